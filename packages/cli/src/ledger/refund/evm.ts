/**
 * Refunds on EVM chains: an ERC-20 transfer, signed by viem.
 *
 * @module
 */
import { setTimeout as wait } from "node:timers/promises";
import { RpcError, type RpcNode } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { CliError } from "../../frame/cli-error.js";
import { type RefundChain, type RefundOrder, type SendRefund, type Signed, WAIT_MS } from "./chain.js";

/** `transfer(address,uint256)`, `balanceOf(address)` */
const [TRANSFER, BALANCE_OF] = ["0xa9059cbb", "0x70a08231"] as const;
const EVERY_MS = 500;

/** Opens the account of a key. @throws CliError if it is no key */
export async function openEvm(rpc: RpcNode, key: string): Promise<RefundChain> {
  const { privateKeyToAccount } = await import("viem/accounts");
  let account: ReturnType<typeof privateKeyToAccount>;
  try {
    account = privateKeyToAccount(key as `0x${string}`);
  } catch {
    // The error of viem may quote the key.
    throw new CliError(
      "FAREBOX_CLI_KEY",
      "FAREBOX_REFUND_KEY is no key of an EVM account",
      "Set it to 0x and 64 hex digits",
    );
  }
  const ask = async (method: string, params: readonly unknown[]) => BigInt(String(await rpc.call(method, params)));
  return {
    from: account.address,
    async sign({ network, asset, to, amount }: RefundOrder): Promise<Signed> {
      const from = account.address;
      const chainId = await ask("eth_chainId", []);
      if (network !== `eip155:${chainId}`) {
        throw new CliError(
          "FAREBOX_CLI_NODE",
          `the node for ${network} is of eip155:${chainId}`,
          "Name a node of this network",
        );
      }
      const word = (value: bigint) => value.toString(16).padStart(64, "0");
      const balance = await ask("eth_call", [{ to: asset, data: BALANCE_OF + word(BigInt(from)) }, "latest"]);
      if (balance < amount) {
        throw new CliError(
          "FAREBOX_CLI_REFUND",
          `${from} has ${balance} atomic units of the asset, and ${amount} are to be given back`,
          "Use the key of an account that has the money",
        );
      }
      const data: `0x${string}` = `${TRANSFER}${word(BigInt(to))}${word(amount)}`;
      const gas = await ask("eth_estimateGas", [{ from, to: asset, data }]).catch((cause: unknown) => {
        throw new CliError(
          "FAREBOX_CLI_REFUND",
          "the asset refuses this transfer",
          "Look whether the token is paused, or has blocked an address",
          { cause },
        );
      });
      const block = await rpc.call("eth_getBlockByNumber", ["latest", false]);
      const base =
        isJsonObject(block) && typeof block["baseFeePerGas"] === "string" ? BigInt(block["baseFeePerGas"]) : 0n;
      const maxPriorityFeePerGas = await ask("eth_maxPriorityFeePerGas", []).catch(() => 1_000_000n);
      const raw = await account.signTransaction({
        type: "eip1559",
        chainId: Number(chainId),
        nonce: Number(await ask("eth_getTransactionCount", [from, "pending"])),
        to: asset as `0x${string}`,
        data,
        gas: (gas * 12n) / 10n,
        maxPriorityFeePerGas,
        maxFeePerGas: base * 2n + maxPriorityFeePerGas,
      });
      const { keccak256 } = await import("viem");
      return { raw, transaction: keccak256(raw) };
    },
  };
}

/** Sends it. A node that knows it already, or has a later one of the account, refuses it: its receipt decides. */
export const sendEvm: SendRefund = async (rpc, { raw, transaction }, signal) => {
  try {
    await rpc.call("eth_sendRawTransaction", [raw]);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
  }
  const untilMs = Date.now() + WAIT_MS;
  while (Date.now() < untilMs && !signal.aborted) {
    const receipt = await rpc.call("eth_getTransactionReceipt", [transaction]).catch(() => null);
    if (isJsonObject(receipt)) return receipt["status"] === "0x1" ? "done" : "failed";
    await wait(EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return "unknown";
};
