/** The packages' READMEs describe the options as they are. */
import { readFileSync } from "node:fs";
import { createAlgodChain, createExactAvmScheme } from "@farebox/avm/facilitator";
import { ConfigError } from "@farebox/core";
import { createExactEvmScheme, createRpcChain } from "@farebox/evm/facilitator";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { expect, test } from "vitest";

/** The options in the first column of the table that is about a function, each with its range and default. */
function documented(
  readme: string,
  name: string,
): Readonly<Record<string, { readonly range: string; readonly usual: string }>> {
  const text = readFileSync(new URL(`../../packages/${readme}/README.md`, import.meta.url), "utf8");
  const [, rows = ""] = new RegExp(`\\| option of \`${name}\` .*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`).exec(text) ?? [];
  const cells = [...rows.matchAll(/^\| `(\w+)` \| (.*?) \| (.*?) \|/gm)];
  return Object.fromEntries(cells.map(([, option = "", range = "", usual = ""]) => [option, { range, usual }]));
}

/** The issues of options, by path. */
function issuesOf(create: () => unknown): ReadonlyMap<string, string> {
  try {
    create();
  } catch (error) {
    if (error instanceof ConfigError) return new Map(error.issues.map(({ path, expected }) => [path, expected]));
    throw error;
  }
  return new Map();
}

const WRONG = { nonsense: 1 } as never;
const facilitator = createFacilitator({ schemes: [createExactEvmScheme({ chain: createRpcChain(minimal()) })] });

const avmChain = createAlgodChain(minimalAvm());
const svmChain = createRpcSvmChain(minimalSvm());

const TABLES = [
  { readme: "evm", name: "createRpcChain", create: (options: object) => createRpcChain({ ...minimal(), ...options }) },
  {
    readme: "avm",
    name: "createAlgodChain",
    create: (options: object) => createAlgodChain({ ...minimalAvm(), ...options }),
  },
  {
    readme: "avm",
    name: "createExactAvmScheme",
    create: (options: object) => createExactAvmScheme({ chain: avmChain, ...options }),
  },
  {
    readme: "svm",
    name: "createRpcSvmChain",
    create: (options: object) => createRpcSvmChain({ ...minimalSvm(), ...options }),
  },
  {
    readme: "svm",
    name: "createExactSvmScheme",
    create: (options: object) => createExactSvmScheme({ chain: svmChain, ...options }),
  },
  { readme: "facilitator", name: "createFacilitator", create: () => createFacilitator(WRONG) },
  {
    readme: "facilitator",
    name: "facilitatorRouter",
    create: (options: object) => facilitatorRouter(facilitator, options),
  },
];

test.each(TABLES)("the table of $name has every option, in order, with its range", ({ readme, name, create }) => {
  const options = documented(readme, name);
  const keys = issuesOf(() => create(WRONG)).get("options.nonsense");
  expect(keys).toBe(`one of the keys ${Object.keys(options).join(", ")}`);

  const ranges = Object.entries(options).filter(([, { range }]) => /^\d+ to \d+$/.test(range));
  for (const [key, { range, usual }] of ranges) {
    const path = `options.${key}`;
    expect(issuesOf(() => create({ [key]: "x" })).get(path)).toBe(`a whole number from ${range}`);
    expect(issuesOf(() => create({ [key]: Number(usual) })).has(path)).toBe(false);
  }
});

function minimal() {
  return {
    network: "eip155:84532",
    rpcUrl: "http://127.0.0.1:1",
    privateKey: `0x${"1".repeat(64)}`,
  } as const;
}

function minimalAvm() {
  // The key of 32 zeros.
  const address = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29";
  return {
    network: "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
    algodUrl: "http://127.0.0.1:1",
    privateKey: Buffer.from("00".repeat(32) + address, "hex"),
  } as const;
}

function minimalSvm() {
  // The key of 32 zeros.
  const address = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29";
  return {
    network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    rpcUrl: "http://127.0.0.1:1",
    privateKey: Buffer.from("00".repeat(32) + address, "hex"),
  } as const;
}
