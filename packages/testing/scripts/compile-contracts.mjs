/**
 * Compiles `contracts/OwnedWallet.sol` into `src/local-chain/owned-wallet.generated.ts`.
 *
 * Usage: `node scripts/compile-contracts.mjs`, or with `--check` to fail when the generated file is not current.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import solc from "solc";

const SOURCE = new URL("../contracts/OwnedWallet.sol", import.meta.url);
const TARGET = new URL("../src/local-chain/owned-wallet.generated.ts", import.meta.url);

const generated = render(compile(readFileSync(SOURCE, "utf8")));
if (!process.argv.includes("--check")) {
  writeFileSync(TARGET, generated);
} else if (readFileSync(TARGET, "utf8") !== generated) {
  process.stderr.write("owned-wallet.generated.ts is not current: run node scripts/compile-contracts.mjs\n");
  process.exitCode = 1;
}

/** Yields the creation code in hexadecimal. */
function compile(content) {
  const input = {
    language: "Solidity",
    sources: { "OwnedWallet.sol": { content } },
    settings: {
      evmVersion: "shanghai",
      optimizer: { enabled: true, runs: 200 },
      // No hash of the source in the code: a comment changes nothing.
      metadata: { bytecodeHash: "none", appendCBOR: false },
      outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
    },
  };
  const { errors = [], contracts } = JSON.parse(solc.compile(JSON.stringify(input)));
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return contracts["OwnedWallet.sol"].OwnedWallet.evm.bytecode.object;
}

function render(code) {
  return `/**
 * Generated from \`contracts/OwnedWallet.sol\` by \`scripts/compile-contracts.mjs\`.
 *
 * @module
 */

/** Creation code; the constructor's one argument, the owner's address in 32 bytes, goes behind it. */
export const OWNED_WALLET_CODE: \`0x\${string}\` =
  "0x${code}";
`;
}
