/**
 * `farebox ledger reconcile`: compares the ledger with the chain, transfer by transfer.
 *
 * @module
 */
import { type LedgerEntry, RpcError, type RpcNode } from "@farebox/core";
import { canonicalNetwork } from "@farebox/core/protocol";
import { CliError, wrongCall } from "../../frame/cli-error.js";
import { type Command, defineCommand } from "../../frame/command.js";
import { printable, type Terminal } from "../../frame/terminal.js";
import { openNodes } from "../../rpc/read-rpc-option.js";
import { LEDGER_OPTIONS, RANGE_OPTIONS, readEntries, withLedger } from "../open-ledger.js";
import { viewAvm } from "./avm.js";
import { type Search, viewEvm } from "./evm.js";
import { viewSvm } from "./svm.js";
import { type ChainView, type Comparison, compare, type Window } from "./transfers.js";

/** A settlement is on the chain before it is in the ledger, and clocks differ. */
const AROUND_MS = 2 * 60 * 60 * 1000;

export const command: Command = defineCommand({
  name: "ledger reconcile",
  summary: "Compares the ledger with the chain: each entry's transfer, and transfers that no entry has",
  usage: "[options] --rpc <network=url>",
  options: {
    ...LEDGER_OPTIONS,
    rpc: {
      type: "string",
      multiple: true,
      value: "network=url",
      description: "A node of a network, e.g. eip155:8453=https://…; on Algorand an indexer",
    },
    payee: {
      type: "string",
      multiple: true,
      value: "address",
      description: "Also looks for transfers to this address",
    },
    ...RANGE_OPTIONS,
    timeout: {
      type: "string",
      value: "seconds",
      default: "30",
      description: "The time limit of each request, 1 to 120",
    },
    json: { type: "boolean", description: "Prints the result as JSON" },
  },
  details: `Looks for transfers of the ledger's assets to the ledger's payees. Networks: EVM, Solana, and Algorand with an indexer. Without --since it begins with the first entry.

Exits with 0 if everything agrees, and with 1 if something does not, or if a network has no node.

  farebox ledger reconcile --store sqlite:payments.db --rpc eip155:8453=https://mainnet.base.org --since 2026-11-01`,
  run({ options, args, env, terminal }) {
    if (args.length > 0)
      throw wrongCall("it takes options only", "Write farebox ledger reconcile --rpc eip155:8453=https://…");
    if (options.rpc.length === 0) throw wrongCall("no node is named", "Write --rpc eip155:8453=https://…");
    const seconds = Number(options.timeout);
    if (!(Number.isInteger(seconds) && seconds >= 1 && seconds <= 120)) {
      throw wrongCall(
        `--timeout is a whole number from 1 to 120, not ${JSON.stringify(options.timeout)}`,
        "Write --timeout 30",
      );
    }
    const nodes = openNodes(options.rpc, seconds * 1000);
    const [sinceMs, untilMs] = [readTime("--since", options.since), readTime("--until", options.until)];
    return withLedger(options, env, async (ledger) => {
      const around = {
        ...(sinceMs === undefined ? {} : { since: sinceMs - AROUND_MS }),
        ...(untilMs === undefined ? {} : { until: untilMs + AROUND_MS }),
      };
      terminal.progress("Reading the ledger");
      const entries = await readEntries(ledger, around);
      const window = windowOf(entries, sinceMs, untilMs);
      const results = new Map<string, Comparison>();
      const networks = groupByNetwork(entries);
      for (const [network, rpc] of nodes) {
        const own = networks.get(canonicalNetwork(network)) ?? [];
        terminal.progress(`Looking at ${network}`);
        results.set(network, await reconcile(network, rpc, own, { window, payees: options.payee }));
      }
      const unchecked = [...networks].filter(([network, own]) => {
        return (
          !results.has(network) &&
          own.some(({ settledAtMs }) => settledAtMs >= window.sinceMs && settledAtMs < window.untilMs)
        );
      });
      const result = { results, unchecked: unchecked.map(([network, own]) => ({ network, entries: own.length })) };
      if (options.json) printJson(result, terminal);
      else print(result, terminal);
      const agrees = [...results.values()].every(({ discrepancies }) => discrepancies.length === 0);
      return agrees && unchecked.length === 0 ? 0 : 1;
    });
  },
});

function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw wrongCall(`${option} is no time: ${JSON.stringify(text)}`, `Write ${option} 2026-11-01`);
  return ms;
}

function windowOf(entries: readonly LedgerEntry[], sinceMs: number | undefined, untilMs: number | undefined): Window {
  const begins = entries.map(({ settledAtMs, latencyMs }) => settledAtMs - latencyMs);
  const first = begins.reduce((least, each) => Math.min(least, each), Date.now());
  // The time of a block has whole seconds.
  return { sinceMs: sinceMs ?? Math.floor(first / 1000) * 1000, untilMs: untilMs ?? Date.now() + AROUND_MS };
}

function groupByNetwork(entries: readonly LedgerEntry[]): ReadonlyMap<string, readonly LedgerEntry[]> {
  const groups = new Map<string, LedgerEntry[]>();
  for (const entry of entries) {
    const network = canonicalNetwork(entry.network);
    const group = groups.get(network);
    if (group === undefined) groups.set(network, [entry]);
    else group.push(entry);
  }
  return groups;
}

async function reconcile(
  network: string,
  rpc: RpcNode,
  entries: readonly LedgerEntry[],
  { window, payees }: { readonly window: Window; readonly payees: readonly string[] },
): Promise<Comparison> {
  const family = network.split(":", 1).join();
  const search: Search = {
    network,
    rpc,
    assets: unique(entries.map(({ asset }) => asset)),
    payees: unique([...entries.map(({ payee }) => payee), ...payees.filter((payee) => familyOf(payee) === family)]),
    sinceMs: window.sinceMs - AROUND_MS,
    untilMs: window.untilMs + AROUND_MS,
  };
  if (search.assets.length === 0) return { matched: 0, discrepancies: [] };
  try {
    return await compare(entries, await view(search), window);
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw new CliError(
      "FAREBOX_CLI_NODE",
      `the node for ${network} cannot be used: ${cause.message}`,
      "Name another node",
      { cause },
    );
  }
}

/** The namespace of the networks that have such addresses. */
function familyOf(address: string): "eip155" | "algorand" | "solana" {
  if (address.startsWith("0x")) return "eip155";
  return /^[A-Z2-7]{58}$/.test(address) ? "algorand" : "solana";
}

function view(search: Search): Promise<ChainView> {
  if (search.network.startsWith("eip155:")) return viewEvm(search);
  if (search.network.startsWith("solana:")) return viewSvm(search);
  if (search.network.startsWith("algorand:")) return viewAvm(search);
  throw new CliError(
    "FAREBOX_CLI_NODE",
    `${search.network} cannot be compared: only EVM networks, Solana and Algorand can`,
    "Leave its --rpc out",
  );
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Map(texts.map((text) => [text.startsWith("0x") ? text.toLowerCase() : text, text])).values()];
}

interface Result {
  readonly results: ReadonlyMap<string, Comparison>;
  readonly unchecked: readonly { readonly network: string; readonly entries: number }[];
}

function print({ results, unchecked }: Result, terminal: Terminal): void {
  for (const [network, { matched, discrepancies }] of results) {
    for (const { kind, entry, transfer, message } of discrepancies) {
      const transaction = entry?.transaction ?? transfer?.transaction ?? "";
      const id = entry === undefined ? "" : ` entry ${entry.id}`;
      terminal.print(`${terminal.style("red", kind)}${printable(id)} transaction ${printable(transaction)}`);
      terminal.print(`  ${printable(message)}`);
    }
    const agrees = discrepancies.length === 0;
    const verdict = agrees
      ? "agrees with the chain"
      : `${discrepancies.length} ${discrepancies.length === 1 ? "difference" : "differences"}`;
    terminal.print(
      terminal.style(
        agrees ? "green" : "red",
        `${network}: ${matched} ${matched === 1 ? "entry" : "entries"} found on the chain, ${verdict}`,
      ),
    );
  }
  for (const { network, entries } of unchecked) {
    terminal.print(
      terminal.style("yellow", `${network}: ${entries} entries were not compared, since no node is named`),
    );
  }
}

function printJson({ results, unchecked }: Result, terminal: Terminal): void {
  const networks = [...results].map(([network, { matched, discrepancies }]) => ({ network, matched, discrepancies }));
  const agrees = unchecked.length === 0 && networks.every(({ discrepancies }) => discrepancies.length === 0);
  terminal.printJson({ agrees, networks, unchecked });
}
