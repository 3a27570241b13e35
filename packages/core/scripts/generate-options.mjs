// Writes docs/reference/options.md from the doc comments of the sellers' types.
//
//   node packages/core/scripts/generate-options.mjs           writes it
//   node packages/core/scripts/generate-options.mjs --check   fails when it is out of date
//
// A comment is a sentence or more; `@example` is a value, which is compiled by test/docs/blocks.test.ts; `@defaultValue` is the
// default. An option without a question mark is required.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const SOURCES = fileURLToPath(new URL("../src", import.meta.url));
const TARGET = new URL("../../../docs/reference/options.md", import.meta.url);

/** The tables, in the order of the page. `of` is how the type is written in the compiled examples. */
const TABLES = [
  {
    title: "Seller",
    type: "PaymentsOptions",
    of: "PaymentsOptions",
    intro: "For `createPayments(options)` and `paymentMiddleware(routes, options)`.",
  },
  {
    title: "Route",
    type: "RouteConfig",
    of: "RouteConfig",
    intro:
      "For each key of a route table, and for `payments.charge(route)`. Route keys: [routes](../guides/routes.md).",
  },
  {
    title: "Payment option",
    type: "PaymentOption",
    of: "PaymentOption",
    intro: "For each entry of a route's `accepts`. Prices: [pricing](../guides/pricing.md).",
  },
  {
    title: "Price parser",
    type: "PriceParser",
    of: "PriceParser",
    intro: "For each entry of `priceParsers`. Details: [pricing](../guides/pricing.md#prices-in-another-asset).",
  },
  {
    title: "Facilitator by URL",
    type: "HttpFacilitatorChoice",
    of: "HttpFacilitatorChoice",
    intro: "For an entry of `facilitator` that is an object with a `url`.",
  },
  {
    title: "Facilitator in the process",
    type: "ChosenFacilitator",
    of: "ChosenFacilitator",
    intro: "For an entry of `facilitator` that is an object with a `facilitator`.",
  },
  {
    title: "Request of a price, recipient or validate function",
    type: "PriceRequest",
    of: "PriceRequest",
    intro: "The argument of `price`, `payTo` and `validate` where they are functions.",
    isArgument: true,
  },
];

const HEAD = `<!-- Generated from the doc comments of packages/core/src/options.ts by packages/core/scripts/generate-options.mjs. -->

# Options

Every option of a seller, a route and a payment option, with its type by example and its default.

<!-- given
declare const handler: RequestHandler;
import type { RequestHandler } from "express";
-->
\`\`\`ts
import { createPayments } from "@farebox/express";
import express from "express";

const payments = createPayments({
  facilitator: "https://x402.org/facilitator",
  payTo: { "eip155:*": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
  networks: ["eip155:84532"],
});

const app = express();
app.use(payments.routes({ "GET /weather": { price: "$0.001", description: "The weather, now" } }));
app.get("/weather", handler);
\`\`\`

All options are checked at start. An unknown key or a wrong value throws a \`ConfigError\`
([ERR_FAREBOX_CONFIG](errors.md#err_farebox_config)), which lists every issue at once.
`;

const interfaces = readInterfaces();

/** The page. */
export function renderOptions() {
  const sections = TABLES.map((table) => {
    const rows = fieldsOf(table.type).map((field) => renderRow(field, table));
    const head = table.isArgument
      ? "| field | example | meaning |\n|---|---|---|"
      : "| option | example | default | meaning |\n|---|---|---|---|";
    return `## ${table.title}\n\n${table.intro}\n\n${head}\n${rows.join("\n")}\n`;
  });
  return [HEAD, ...sections].join("\n");
}

/** A module in which each example is a value of its option. */
export function optionExamples() {
  const types = [...new Set(TABLES.map(({ of }) => of))];
  const lines = TABLES.flatMap(({ type, of }) =>
    fieldsOf(type).flatMap(({ name, example }, at) =>
      example === undefined ? [] : [`export const ${type}_${at}: NonNullable<${of}["${name}"]> = ${example};`],
    ),
  );
  return [`import type { ${types.join(", ")} } from "@farebox/core";`, ...GIVEN, ...lines].join("\n");
}

/** What examples may name. */
const GIVEN = [
  'import { createMemoryStore } from "@farebox/core";',
  'import type { Extension, Facilitator, PaymentHooks, Scheme } from "@farebox/core";',
  "declare const voucherScheme: () => Scheme;",
  "declare const receiptExtension: () => Extension;",
  "declare const facilitator: Facilitator;",
  "declare const isMember: (key: string | undefined) => boolean;",
  "declare const words: (body: unknown) => number;",
  "declare const toUnits: (amount: string) => string;",
  "declare const req: object;",
  'declare const accepted: NonNullable<PriceRequest["payment"]>["accepted"];',
  "declare const authorization: object;",
];

function renderRow({ name, isRequired, text, example, usual }, { isArgument }) {
  const shown = example === undefined ? "" : code(example);
  const fallback = usual ?? (isRequired ? "required" : "none");
  const cells = isArgument ? [`\`${name}\``, shown, text] : [`\`${name}\``, shown, fallback, text];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

const code = (text) => `\`${text}\``;

/** The fields of an interface, those that it inherits first. */
function fieldsOf(name) {
  const { node, source } = interfaces.get(name) ?? {};
  if (node === undefined) throw new TypeError(`no interface ${name}`);
  const inherited = (node.heritageClauses ?? []).flatMap(({ types }) =>
    types.flatMap((type) => fieldsOf(type.expression.getText(source))),
  );
  const own = node.members.filter((member) => member.name !== undefined);
  return [...inherited, ...own.map((member) => readField(member, source))];
}

function readField(member, source) {
  const tags = ts.getJSDocTags(member).map((tag) => [tag.tagName.text, oneLine(ts.getTextOfJSDocComment(tag.comment))]);
  const comments = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
  const text = oneLine(comments.map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? "").join(" "));
  const find = (name) => tags.find(([tag]) => tag === name)?.[1];
  return {
    name: member.name.getText(source),
    isRequired: member.questionToken === undefined,
    text: text.replaceAll(/\{@link (\w+)(?:\.\w+)?\}/g, "`$1`"),
    example: find("example"),
    usual: find("defaultValue"),
  };
}

function oneLine(text = "") {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Every interface of core's sources by its name. */
function readInterfaces() {
  const found = new Map();
  const names = readdirSync(SOURCES, { recursive: true }).filter((name) => /\.ts$/.test(name));
  for (const name of names.filter((file) => !/\.(test|test-d|fixture|generated)\.ts$/.test(file))) {
    const text = readFileSync(join(SOURCES, name), "utf8");
    const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
    for (const node of source.statements.filter(ts.isInterfaceDeclaration)) found.set(node.name.text, { node, source });
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = renderOptions();
  if (!process.argv.includes("--check")) writeFileSync(TARGET, text);
  else if (!existsSync(TARGET) || readFileSync(TARGET, "utf8") !== text) {
    console.error("docs/reference/options.md is out of date: run node packages/core/scripts/generate-options.mjs");
    process.exitCode = 1;
  }
}
