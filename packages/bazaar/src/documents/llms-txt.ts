/**
 * `/llms.txt`: the priced routes of a server as text, for agents that read before they call.
 *
 * @module
 */
import type { DescribedRoute, DescribedTool } from "@farebox/core/adapter";
import { type DeclaredField, declarationOf, describeOffers, fieldsOf, inputPart } from "./declared.js";
import { type DeclaredTool, declaredTools } from "./tools.js";

/** Options of `writeLlmsTxt`. */
export interface LlmsTxtOptions {
  /** Name of the service. */
  readonly title: string;
  /** One paragraph. */
  readonly description?: string;
}

/** Writes the text, as Markdown. */
export function writeLlmsTxt(
  routes: readonly DescribedRoute[],
  { title, description }: LlmsTxtOptions,
  baseUrl: string,
  tools: readonly DescribedTool[] = [],
): string {
  const lines = [
    `# ${toLine(title)}`,
    "",
    ...(description === undefined ? [] : [`> ${toLine(description)}`, ""]),
    "Every request below is paid over x402. The first response is 402, with the offers in the header `PAYMENT-REQUIRED`. Send the",
    "request again with a signed payment in `PAYMENT-SIGNATURE`. You need no API key and no account.",
    "",
    "## Endpoints",
    "",
    ...routes.flatMap((route) => describe(route, baseUrl)),
    ...describeTools(declaredTools(tools)),
  ];
  return `${lines.join("\n")}\n`;
}

function describe(route: DescribedRoute, baseUrl: string): readonly string[] {
  const { method, template, params, resource, isGrantOnly } = route;
  // A request needs the parameters, which one URL for all of them does not name.
  const url = params.length === 0 && resource !== undefined ? resource : baseUrl + template;
  const price = isGrantOnly ? GRANTED : `Costs ${describeOffers(route)}.`;
  return [`- \`${method} ${toLine(url)}\`${aboutOf(route)}. ${price}`, ...describeInput(route)];
}

const GRANTED = "Not for sale: the seller lets some requests through, as the 402 says.";

function describeTools(tools: readonly DeclaredTool[]): readonly string[] {
  if (tools.length === 0) return [];
  return [
    "",
    "## MCP tools",
    "",
    "A call without a payment is an error with the offers in it. Call again with the signed payment in",
    '`_meta["x402/payment"]`.',
    "",
    ...tools.flatMap(({ tool, input }) => {
      const { toolName, transport = "streamable-http", inputSchema } = input;
      const { serverUrl = tool.url } = tool;
      const name = tool.url.startsWith("mcp:") ? ` as \`${toLine(tool.url)}\`` : "";
      const where = serverUrl.startsWith("mcp:") ? name : `${name} on \`${toLine(serverUrl)}\``;
      return [
        `- \`${toLine(toolName)}\`${where} (${transport})${aboutOf(tool)}. Costs ${describeOffers(tool)}.`,
        ...fieldsOf(inputSchema).map((field) => describeField("argument", field)),
      ];
    }),
  ];
}

function aboutOf({ description }: Pick<DescribedRoute, "description">): string {
  return description === "" ? "" : `: ${toLine(description).replace(/[.]$/, "")}`;
}

function describeInput(route: DescribedRoute): readonly string[] {
  const declared = declarationOf(route);
  if (declared === undefined) return [];
  return [
    ...fieldsOf(inputPart(declared, "queryParams")).map((field) => describeField("query", field)),
    ...fieldsOf(inputPart(declared, "body")).map((field) => describeField("body", field)),
  ];
}

function describeField(part: string, { name, schema, description, isRequired }: DeclaredField): string {
  const { type } = schema;
  const facts = [part, ...(typeof type === "string" ? [type] : []), isRequired ? "required" : "optional"];
  const about = description === undefined ? "" : `: ${toLine(description)}`;
  return `  - \`${toLine(name)}\` (${facts.join(", ")})${about}`;
}

/** A line break would end the Markdown list item. */
function toLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
