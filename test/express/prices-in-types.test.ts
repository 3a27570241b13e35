/**
 * What the compiler says of a seller's prices, recipients and networks: texts of the environment need no cast, and a mistake is one short error.
 */
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { ROOT } from "../docs/markdown.js";

/** The files that a seller's imports, each parsed once. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** Compiles sellers' lines in one program. Returns the errors about each, as levels of text. */
function compile(codes: readonly string[], options: ts.CompilerOptions): readonly string[][][] {
  const texts = new Map(
    codes.map((code, at) => [
      join(ROOT, `test/express/seller-that-is-compiled-${at}.ts`),
      `import { paymentMiddleware } from "@farebox/express";\ndeclare const env: Record<string, string>;\n${code}`,
    ]),
  );
  const settings: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    // The browser's types are as many as all others together.
    lib: ["lib.es2023.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    moduleDetection: ts.ModuleDetectionKind.Force,
    types: ["node"],
    noEmit: true,
    skipLibCheck: true,
    ...options,
  };
  const host = ts.createCompilerHost(settings);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => texts.has(file) || fileExists(file);
  host.getSourceFile = (file, ...rest) => {
    const text = texts.get(file);
    if (text !== undefined) return ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
    const source = parsed.get(file) ?? getSourceFile.call(host, file, ...rest);
    parsed.set(file, source);
    return source;
  };
  const program = ts.createProgram([...texts.keys()], settings, host);
  const broken = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
  return [...texts.keys()].map((path) =>
    [...broken, ...ts.getPreEmitDiagnostics(program, program.getSourceFile(path))].map(({ messageText }) =>
      ts.flattenDiagnosticMessageText(messageText, "\n").split("\n"),
    ),
  );
}

const sellWith = (accepts: string, options = "") =>
  `paymentMiddleware({ "GET /x": { accepts: ${accepts} } }, { facilitator: env.F!, ${options} });`;

/** Texts of the environment, without a cast. */
const OF_ENVIRONMENT = `
  const network = process.env.NETWORK!, price = process.env["PRICE"]!, payTo = process.env["PAY_TO"]!;
  ${sellWith("{ network, price, payTo }", "payTo: { [network]: payTo }, networks: [network], rpc: { [network]: env.RPC! }")}
  ${sellWith("[{ scheme: env.SCHEME!, network, price: () => price, payTo: () => payTo }]")}
  ${sellWith("{ network, price: `$${env.CENTS}`, payTo }")}
  ${sellWith("{ network, price: { asset: payTo, amount: String(10n) }, payTo }")}`;

const WRONG: readonly (readonly [accepts: string, names: RegExp])[] = [
  ['{ network: "eip155:8453", price: 0.01, payTo: "0x1" }', /^Type 'number' is not assignable to type 'Price/],
  ['{ network: 8453, price: "$1", payTo: "0x1" }', /^Type 'number' is not assignable to type 'NetworkName'/],
  ['{ price: "$1", payTo: "0x1" }', /Property 'network' is missing/],
  ['{ network: "eip155:8453", price: "$1", payTo: 5 }', /^Type 'number' is not assignable to type .*PayToFunction/],
  ['{ network: "eip155:8453", prize: "$1", payTo: "0x1" }', /'prize' does not exist/],
];

test.each<[name: string, options: ts.CompilerOptions]>([
  ["strict", { strict: true }],
  [
    "strict with exactOptionalPropertyTypes",
    { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  ],
])(
  "in TypeScript, %s, texts of the environment need no cast, and each mistake is one error of one level",
  (_, options) => {
    const [ofEnvironment, ...ofWrong] = compile(
      [OF_ENVIRONMENT, ...WRONG.map(([accepts]) => sellWith(accepts))],
      options,
    );
    expect(ofEnvironment).toEqual([]);
    for (const [at, [accepts, names]] of WRONG.entries()) {
      const errors = ofWrong[at];
      expect(errors, accepts).toHaveLength(1);
      expect(errors?.[0]?.join("\n")).toMatch(names);
      expect(errors?.[0]?.length).toBeLessThanOrEqual(2);
    }
  },
);
