/**
 * Refunds on Solana: a transfer between token accounts, signed by `@solana/web3.js`.
 *
 * @module
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { RpcNode } from "@farebox/core";
import { isJsonObject, type JsonObject } from "@farebox/core/protocol";
import { decodeBase58, encodeBase58, tokenAccountOf } from "@farebox/svm";
import { CliError } from "../../frame/cli-error.js";
import { type RefundChain, type RefundOrder, type SendRefund, type Signed, WAIT_MS } from "./chain.js";

type Web3 = typeof import("@solana/web3.js");

const TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
const EVERY_MS = 500;

/** Opens the account of a key: 64 bytes in base58, or as a JSON array. @throws CliError if it is no key */
export async function openSvm(rpc: RpcNode, key: string): Promise<RefundChain> {
  const web3 = loadWeb3();
  const signer = readKey(web3, key);
  const from = signer.publicKey.toBase58();
  return {
    from,
    async sign({ network, asset, to, amount }: RefundOrder): Promise<Signed> {
      const genesis = await rpc.call("getGenesisHash", []);
      if (typeof genesis !== "string" || !genesis.startsWith(network.slice("solana:".length))) {
        throw new CliError(
          "FAREBOX_CLI_NODE",
          `the node for ${network} is of another chain`,
          "Name a node of this network",
        );
      }
      const mint = await readAccount(rpc, asset);
      const program = mint?.owner === TOKEN_2022 ? "token-2022" : "token";
      if (mint === undefined)
        throw new CliError("FAREBOX_CLI_REFUND", `there is no token ${asset}`, "Look at the entry");
      const [source, destination] = [tokenAccountOf(from, asset, program), tokenAccountOf(to, asset, program)];
      const [held, receives] = await Promise.all([readAccount(rpc, source), readAccount(rpc, destination)]);
      const balance = held === undefined ? 0n : held.data.readBigUInt64LE(64);
      if (balance < amount) {
        throw new CliError(
          "FAREBOX_CLI_REFUND",
          `${from} has ${balance} atomic units of the asset, and ${amount} are to be given back`,
          "Use the key of an account that has the money",
        );
      }
      if (receives === undefined) {
        throw new CliError(
          "FAREBOX_CLI_REFUND",
          `${to} has no token account any more`,
          "Ask the payer for another address, and name it with --to",
        );
      }
      const data = Buffer.alloc(10);
      data.writeUInt8(12, 0);
      data.writeBigUInt64LE(amount, 1);
      data.writeUInt8(mint.data.readUInt8(44), 9);
      const address = (text: string) => new web3.PublicKey(text);
      const instruction = new web3.TransactionInstruction({
        programId: address(mint.owner),
        keys: [
          { pubkey: address(source), isSigner: false, isWritable: true },
          { pubkey: address(asset), isSigner: false, isWritable: false },
          { pubkey: address(destination), isSigner: false, isWritable: true },
          { pubkey: signer.publicKey, isSigner: true, isWritable: false },
        ],
        data,
      });
      const latest = await rpc.call("getLatestBlockhash", [{ commitment: "finalized" }]);
      const blockhash =
        isJsonObject(latest) && isJsonObject(latest["value"]) ? latest["value"]["blockhash"] : undefined;
      const transaction = new web3.Transaction();
      transaction.recentBlockhash = String(blockhash);
      transaction.feePayer = signer.publicKey;
      transaction.add(instruction).sign(signer);
      const { signature } = transaction;
      if (signature === null)
        throw new CliError("FAREBOX_CLI_REFUND", "the refund could not be signed", "Look at FAREBOX_REFUND_KEY");
      return { raw: transaction.serialize().toString("base64"), transaction: encodeBase58(signature) };
    },
  };
}

/** Sends it until it is in a block, or can be in none any more. */
export const sendSvm: SendRefund = async (rpc, { raw, transaction }, signal) => {
  const blockhash = blockhashOf(raw);
  const untilMs = Date.now() + WAIT_MS;
  while (Date.now() < untilMs && !signal.aborted) {
    // Asked first: if the blockhash is not valid and the transaction is in no block after that, it never will be.
    const valid = await rpc.call("isBlockhashValid", [blockhash, { commitment: "processed" }]);
    const isValid = isJsonObject(valid) && valid["value"] === true;
    const statuses = await rpc.call("getSignatureStatuses", [[transaction], { searchTransactionHistory: true }]);
    const [status] = isJsonObject(statuses) && Array.isArray(statuses["value"]) ? statuses["value"] : [];
    if (isJsonObject(status)) {
      if (status["err"] !== null) return "failed";
      if (status["confirmationStatus"] === "finalized" || status["confirmationStatus"] === "confirmed") return "done";
    } else if (!isValid) return "expired";
    else await rpc.call("sendTransaction", [raw, { encoding: "base64", skipPreflight: true }]).catch(() => undefined);
    await wait(EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return "unknown";
};

/** It is loaded only here, and is the project's. */
function loadWeb3(): Web3 {
  try {
    return createRequire(join(process.cwd(), "package.json"))("@solana/web3.js") as Web3;
  } catch (cause) {
    throw new CliError(
      "FAREBOX_CLI_REFUND",
      "refunds on Solana need the package @solana/web3.js",
      "Run npm install @solana/web3.js in this folder",
      { cause },
    );
  }
}

function readKey({ Keypair }: Web3, key: string) {
  try {
    const bytes = key.trim().startsWith("[")
      ? Uint8Array.from(JSON.parse(key) as number[])
      : decodeBase58(key.trim(), 64);
    if (bytes !== undefined) return Keypair.fromSecretKey(bytes);
  } catch {
    // The error may quote the key.
  }
  throw new CliError(
    "FAREBOX_CLI_KEY",
    "FAREBOX_REFUND_KEY is no key of a Solana account",
    "Set it to 64 bytes in base58, or to the JSON array of a keypair file",
  );
}

async function readAccount(
  rpc: RpcNode,
  address: string,
): Promise<{ readonly owner: string; readonly data: Buffer } | undefined> {
  const found = await rpc.call("getAccountInfo", [address, { encoding: "base64" }]);
  const value: unknown = isJsonObject(found) ? found["value"] : undefined;
  if (!isJsonObject(value)) return undefined;
  const { owner, data }: JsonObject = value;
  const [base64] = Array.isArray(data) ? data : [];
  return { owner: String(owner), data: Buffer.from(String(base64), "base64") };
}

/** The blockhash of a signed transaction of one signature. */
function blockhashOf(raw: string): string {
  const { Transaction } = loadWeb3();
  return Transaction.from(Buffer.from(raw, "base64")).recentBlockhash ?? "";
}
