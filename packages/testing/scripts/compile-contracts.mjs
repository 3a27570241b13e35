/**
 * Makes the contracts of local chains into TypeScript: `contracts/*.sol` by the compiler, Permit2 from the package that
 * has its creation code.
 *
 * Usage: `node scripts/compile-contracts.mjs`, or with `--check` to fail when a generated file is not current.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import solc from "solc";

const require = createRequire(import.meta.url);

const wallet = compile("OwnedWallet.sol");
const token = compile("PlainToken.sol");
const proxies = compile("Permit2Proxies.sol");
const GENERATED = [
  {
    file: "owned-wallet.generated.ts",
    from: "contracts/OwnedWallet.sol",
    constants: [
      [
        "OWNED_WALLET_CODE",
        "Creation code; the constructor's one argument, the owner's address in 32 bytes, goes behind it.",
        wallet.OwnedWallet.evm.bytecode.object,
      ],
    ],
  },
  {
    file: "plain-token.generated.ts",
    from: "contracts/PlainToken.sol",
    constants: [
      [
        "PLAIN_TOKEN_CODE",
        "Creation code; the constructor's two arguments, the holder and the supply in 32 bytes each, go behind it.",
        token.PlainToken.evm.bytecode.object,
      ],
    ],
  },
  {
    file: "permit2-proxies.generated.ts",
    from: "contracts/Permit2Proxies.sol",
    constants: [
      [
        "EXACT_PERMIT2_PROXY_CODE",
        "What is at the proxy's address; there is no constructor to run.",
        proxies.ExactPermit2Proxy.evm.deployedBytecode.object,
      ],
      [
        "UPTO_PERMIT2_PROXY_CODE",
        "What is at the proxy's address; there is no constructor to run.",
        proxies.UptoPermit2Proxy.evm.deployedBytecode.object,
      ],
    ],
  },
  {
    file: "permit2.generated.ts",
    from: "@uniswap/uniswapx-sdk",
    constants: [["PERMIT2_CODE", "Creation code of Uniswap's Permit2 (MIT), without arguments.", readPermit2()]],
  },
];

for (const { file, from, constants } of GENERATED) write(file, render(from, constants));

/** Yields the contracts of a source file. */
function compile(name) {
  const content = readFileSync(new URL(`../contracts/${name}`, import.meta.url), "utf8");
  const input = {
    language: "Solidity",
    sources: { [name]: { content } },
    settings: {
      evmVersion: "shanghai",
      optimizer: { enabled: true, runs: 200 },
      // No hash of the source in the code: a comment changes nothing.
      metadata: { bytecodeHash: "none", appendCBOR: false },
      outputSelection: { "*": { "*": ["evm.bytecode.object", "evm.deployedBytecode.object"] } },
    },
  };
  const { errors = [], contracts } = JSON.parse(solc.compile(JSON.stringify(input)));
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return contracts[name];
}

/** The package's `exports` do not lead to the file. */
function readPermit2() {
  const main = require.resolve("@uniswap/uniswapx-sdk");
  return require(join(dirname(main), "contracts/factories/Permit2__factory.js")).Permit2__factory.bytecode.slice(2);
}

function write(file, generated) {
  const target = new URL(`../src/local-chain/${file}`, import.meta.url);
  if (!process.argv.includes("--check")) {
    writeFileSync(target, generated);
  } else if (readFileSync(target, "utf8") !== generated) {
    process.stderr.write(`${file} is not current: run node scripts/compile-contracts.mjs\n`);
    process.exitCode = 1;
  }
}

function render(from, constants) {
  const declarations = constants.map(
    ([name, comment, code]) => `/** ${comment} */
export const ${name}: \`0x\${string}\` =
  "0x${code}";
`,
  );
  return `/**
 * Generated from \`${from}\` by \`scripts/compile-contracts.mjs\`.
 *
 * @module
 */

${declarations.join("\n")}`;
}
