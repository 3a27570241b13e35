/**
 * `farebox ledger refund`: gives a payment back, and writes it down.
 *
 * The transaction is signed, written to a file, and then sent: if the command dies, the next call sends the same transaction.
 *
 * @module
 */
import { type Ledger, type LedgerEntry, LedgerError, RpcError, type RpcNode } from "@farebox/core";
import { sameNetwork } from "@farebox/core/protocol";
import { CliError, wrongCall } from "../../frame/cli-error.js";
import { type Command, defineCommand } from "../../frame/command.js";
import { printable, type Terminal } from "../../frame/terminal.js";
import { openNodes } from "../../rpc/read-rpc-option.js";
import { describeAmount, refundedOf } from "../amounts.js";
import { LEDGER_OPTIONS, withLedger } from "../open-ledger.js";
import { type RefundChain, type RefundFate, type RefundOrder, WAIT_MS } from "./chain.js";
import { forget, readSaved, type SignedRefund, save, savedPath } from "./saved.js";

const TIMEOUT_MS = 30_000;

export const command: Command = defineCommand({
  name: "ledger refund",
  summary: "Gives a payment back to its payer, on EVM networks and Solana, and writes it down",
  usage: "[options] --rpc <network=url> <id>",
  options: {
    ...LEDGER_OPTIONS,
    rpc: { type: "string", multiple: true, value: "network=url", description: "A node of the entry's network" },
    amount: { type: "string", value: "atomic units", description: "How much; without it, all that is left" },
    to: { type: "string", value: "address", description: "Where to, if it is not the payer" },
    yes: { type: "boolean", description: "Sends it; without it, the transfer is only shown" },
    json: { type: "boolean", description: "Prints the result as JSON" },
  },
  details: `The key is the environment variable FAREBOX_REFUND_KEY, for this call only: 0x and 64 hex digits on EVM networks; 64 bytes in base58, or a keypair file's JSON
array, on Solana. Its account pays the network's fee.

The signed transaction is kept in farebox-refund-<id>.json until its outcome is known. If the command is interrupted, call it again: the same transaction is sent,
and no second one. Call it in the same folder: calls in other folders do not see the file.

  FAREBOX_REFUND_KEY=0x… farebox ledger refund 5f0c3ab14d7e8f90a1b2c3d4e5f60718 --store sqlite:payments.db --rpc eip155:8453=https://… --yes`,
  cleansUp: true,
  run({ options, args, env, terminal, signal }) {
    const [id] = args;
    if (id === undefined || args.length > 1)
      throw wrongCall("name one entry", "Write farebox ledger refund <id> --rpc eip155:8453=https://…");
    if (!/^[0-9a-f]{32}$/.test(id))
      throw wrongCall(
        `this is no id of an entry: ${JSON.stringify(id)}`,
        "Take the id that farebox ledger export prints",
      );
    const nodes = openNodes(options.rpc, TIMEOUT_MS);
    const key = env["FAREBOX_REFUND_KEY"] ?? "";
    return withLedger(options, env, async (ledger) => {
      const entry = await ledger.get(id);
      if (entry === undefined)
        throw new CliError(
          "FAREBOX_CLI_REFUND",
          `there is no entry ${id}`,
          "Take the id that farebox ledger export prints",
        );
      const rpc = nodeOf(nodes, entry.network);
      const saved = readSaved(id);
      if (saved !== undefined) {
        terminal.warn(`${savedPath(id)} has a refund whose outcome is not known: it is sent again`);
        return finish(saved, { ledger, rpc, entry, terminal, signal, isJson: options.json });
      }
      const order = orderOf(entry, options);
      const chain = await openChain(entry.network, rpc, key);
      tell(order, entry, chain, terminal);
      if (!options.yes) {
        if (options.json) terminal.printJson({ sent: false, from: chain.from, ...order });
        else terminal.print("Nothing was sent. Add --yes to send it.");
        return 0;
      }
      const signed = await asksNode(() => chain.sign(order));
      const refund = { id, network: entry.network, amount: order.amount.toString(), to: order.to, ...signed };
      save(refund);
      await checkUnchanged(entry, ledger);
      return finish(refund, { ledger, rpc, entry, terminal, signal, isJson: options.json });
    });
  },
});

/** Another call may have given something back since the entry was read. It has written that down before it removed its file. */
async function checkUnchanged({ id, refunds }: LedgerEntry, ledger: Ledger): Promise<void> {
  const now = await ledger.get(id);
  if (now?.refunds.length === refunds.length) return;
  forget(id);
  const remedy = "Look at the entry with farebox ledger export";
  throw new CliError("FAREBOX_CLI_REFUND", "another call has given something of this payment back right now", remedy);
}

function nodeOf(nodes: ReadonlyMap<string, RpcNode>, network: string): RpcNode {
  const [, node] = [...nodes].find(([named]) => sameNetwork(named, network)) ?? [];
  if (node !== undefined) return node;
  throw wrongCall(`no node of ${network} is named`, `Write --rpc ${network}=https://…`);
}

interface OrderOptions {
  readonly amount: string | undefined;
  readonly to: string | undefined;
}

function orderOf(entry: LedgerEntry, { amount, to }: OrderOptions): RefundOrder {
  const left = BigInt(entry.amount) - refundedOf(entry);
  if (amount !== undefined && !/^[1-9]\d{0,77}$/.test(amount)) {
    throw wrongCall(
      `--amount is a whole number of atomic units, not ${JSON.stringify(amount)}`,
      `Write --amount ${left}`,
    );
  }
  const given = amount === undefined ? left : BigInt(amount);
  if (left === 0n)
    throw new CliError(
      "FAREBOX_CLI_REFUND",
      "all of this payment was given back already",
      "Look at the entry with farebox ledger export",
    );
  if (given > left)
    throw new CliError(
      "FAREBOX_CLI_REFUND",
      `${left} atomic units can still be given back, not ${given}`,
      `Write --amount ${left}`,
    );
  const payer = to ?? (entry.payer?.startsWith("hmac:") === true ? undefined : entry.payer);
  if (payer === undefined)
    throw new CliError(
      "FAREBOX_CLI_REFUND",
      "the ledger does not know the payer's address any more",
      "Find it by the transaction, and name it with --to",
    );
  const isAddress = entry.network.startsWith("eip155:") ? /^0x[0-9a-fA-F]{40}$/ : /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
  if (!isAddress.test(payer))
    throw wrongCall(`this is no address of ${entry.network}: ${JSON.stringify(payer)}`, "Write --to with an address");
  return { network: entry.network, asset: entry.asset, to: payer, amount: given };
}

async function openChain(network: string, rpc: RpcNode, key: string): Promise<RefundChain> {
  if (key === "")
    throw new CliError(
      "FAREBOX_CLI_KEY",
      "FAREBOX_REFUND_KEY is not set",
      "Set it for this call: FAREBOX_REFUND_KEY=… farebox ledger refund …",
    );
  if (network.startsWith("eip155:")) return (await import("./evm.js")).openEvm(rpc, key);
  if (network.startsWith("solana:")) return (await import("./svm.js")).openSvm(rpc, key);
  throw new CliError(
    "FAREBOX_CLI_REFUND",
    `${network} is neither an EVM network nor Solana`,
    "Send it with a wallet, and write it down with farebox ledger mark",
  );
}

function tell({ to, amount }: RefundOrder, entry: LedgerEntry, { from }: RefundChain, terminal: Terminal): void {
  const row = (name: string, value: string) => terminal.warn(`  ${name.padEnd(9)}${printable(value)}`);
  terminal.warn(
    `refund of ${printable(entry.route)}, ${new Date(entry.settledAtMs).toISOString()}, ${printable(entry.transaction)}`,
  );
  row("amount", describeAmount(amount, entry));
  row("network", entry.network);
  row("from", from);
  row("to", to);
}

interface FinishDeps {
  readonly ledger: Ledger;
  readonly rpc: RpcNode;
  readonly entry: LedgerEntry;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly isJson: boolean;
}

/** Sends a signed refund, and writes it down once it is done. */
async function finish(
  refund: SignedRefund,
  { ledger, rpc, entry, terminal, signal, isJson }: FinishDeps,
): Promise<number> {
  const { id, transaction, amount } = refund;
  terminal.warn(`  sending  ${transaction}`);
  const send = entry.network.startsWith("eip155:")
    ? (await import("./evm.js")).sendEvm
    : (await import("./svm.js")).sendSvm;
  const fate = await asksNode(() => send(rpc, refund, signal));
  if (fate !== "done") throw notDone(fate, refund);
  const marked = await ledger.markRefunded(id, { transaction, amount }).catch((cause: unknown) => {
    if (!(cause instanceof LedgerError)) throw cause;
    forget(id);
    throw new CliError(
      "FAREBOX_CLI_REFUND",
      `${transaction} is done, and the ledger refuses it: ${cause.message}`,
      "Look at the entry with farebox ledger export",
      { cause },
    );
  });
  forget(id);
  if (isJson) terminal.printJson({ sent: true, transaction, entry: marked });
  else terminal.print(`${describeAmount(BigInt(amount), entry)} given back by ${transaction}`);
  return 0;
}

function notDone(fate: Exclude<RefundFate, "done">, { id, transaction }: SignedRefund): CliError {
  if (fate === "unknown") {
    const remedy = "Call the command again: the same transaction is sent, and no second one";
    return new CliError(
      "FAREBOX_CLI_UNKNOWN_OUTCOME",
      `${transaction} is in no block after ${WAIT_MS / 1000} seconds or was interrupted`,
      remedy,
    );
  }
  forget(id);
  const what = fate === "failed" ? "failed on the chain" : "came too late for the chain";
  return new CliError(
    "FAREBOX_CLI_REFUND",
    `${transaction} ${what}: nothing was given back`,
    "Look why, and call the command again",
  );
}

async function asksNode<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw new CliError(
      "FAREBOX_CLI_NODE",
      `the node cannot be used: ${cause.message}`,
      "Call the command again with another node",
      { cause },
    );
  }
}
