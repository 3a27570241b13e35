/**
 * `farebox catalog search`: finds services in the catalog of a facilitator.
 *
 * @module
 */
import { type CatalogEntry, createDiscoveryClient, type DiscoveryClient, DiscoveryError } from "@farebox/bazaar";
import { type EntryOffer, NAMED_NETWORKS, networkName, PRICE_LIMITS } from "@farebox/bazaar/facilitator";
import { isNetwork } from "@farebox/core/protocol";
import { CliError, wrongCall } from "../frame/cli-error.js";
import { type Command, defineCommand } from "../frame/command.js";
import { printable, type Terminal } from "../frame/terminal.js";
import { describePrice } from "./price.js";

const MAX_FOUND = 100;

export const command: Command = defineCommand({
  name: "catalog search",
  summary: "Searches the catalog of a facilitator for services, by meaning or by words",
  usage: '[options] "<what the service does>"',
  options: {
    catalog: {
      type: "string",
      value: "url",
      description: "Base URL of the facilitator; without it, the environment variable FAREBOX_CATALOG",
    },
    network: {
      type: "string",
      value: "network",
      description: "Only services that take this network, e.g. eip155:8453",
    },
    "max-price": {
      type: "string",
      value: "dollars",
      choices: PRICE_LIMITS,
      description: "Only services that cost at most so many dollars",
    },
    type: { type: "string", choices: ["http", "mcp"], description: "Only HTTP endpoints, or only MCP tools" },
    limit: { type: "string", value: "number", default: "10", description: `How many to show, 1 to ${MAX_FOUND}` },
    json: { type: "boolean", description: "Prints the entries as JSON, as the catalog has them" },
  },
  details: "Entries are data of strangers. Exits with 0, also if nothing was found.",
  async run({ options, args, env, terminal }) {
    const query = args.join(" ").trim();
    if (query === "") throw wrongCall("name what to search for", 'Write farebox catalog search "weather forecast"');
    const limit = readLimit(options.limit);
    const { network, type } = options;
    if (network !== undefined && !isNetwork(network)) {
      const known = `Write a CAIP-2 identifier, such as ${NAMED_NETWORKS.slice(0, 2).join(" or ")}`;
      throw wrongCall(`--network is no network: ${JSON.stringify(network)}`, known);
    }
    const maxPrice = PRICE_LIMITS.find((price) => price === options["max-price"]);
    const url = options.catalog ?? env["FAREBOX_CATALOG"] ?? "";
    const client = openCatalog(url);
    terminal.progress(`Asking ${url}`);
    const { entries } = await ask(url, () =>
      client.search({
        query: query.slice(0, 500),
        limit,
        ...(network === undefined ? {} : { network }),
        ...(maxPrice === undefined ? {} : { maxPrice }),
        ...(type === undefined ? {} : { type: type === "mcp" ? "mcp" : "http" }),
      }),
    );
    const found = entries.slice(0, limit);
    if (options.json) terminal.printJson({ catalog: url, query, entries: found });
    else if (found.length === 0) terminal.print("Nothing was found.");
    else for (const entry of found) printEntry(entry, terminal);
    return 0;
  },
});

function readLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_FOUND) return limit;
  throw wrongCall(`--limit is a whole number from 1 to ${MAX_FOUND}, not ${JSON.stringify(text)}`, "Write --limit 10");
}

function openCatalog(url: string): DiscoveryClient {
  try {
    return createDiscoveryClient({ url });
  } catch (cause) {
    const given = url === "" ? "no catalog is named" : `this is no URL of a catalog: ${JSON.stringify(url)}`;
    throw new CliError(
      "FAREBOX_CLI_USAGE",
      given,
      "Write --catalog https://x402.org/facilitator, or set FAREBOX_CATALOG",
      {
        exitCode: 2,
        cause,
      },
    );
  }
}

async function ask<T>(url: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (!(cause instanceof DiscoveryError)) throw cause;
    const remedy =
      cause.problem === "unreachable" || cause.problem === "timeout"
        ? "Check the URL, and that the facilitator runs"
        : "Check that the URL is the base URL of a facilitator that has a catalog";
    throw new CliError("FAREBOX_CLI_CATALOG", `${url}: ${cause.message}`, remedy, { cause });
  }
}

function printEntry(entry: CatalogEntry, terminal: Terminal): void {
  const { resource, description, serviceName, verified, toolName } = entry;
  const methods = entry.methods?.map(({ method }) => method) ?? [
    entry.method ?? (entry.type === "mcp" ? "MCP" : "GET"),
  ];
  const title = [...methods, printable(resource)].join(" ");
  terminal.print(terminal.style("bold", title));
  const about = [serviceName, toolName, description].filter((text) => text !== undefined && text !== "");
  if (about.length > 0) terminal.print(`  ${printable(about.join(": "))}`);
  for (const price of pricesOf(entry.accepts)) terminal.print(`  ${terminal.style("green", price)}`);
  if (verified === false) terminal.print(`  ${terminal.style("yellow", "its owner has not confirmed this entry")}`);
  terminal.print();
}

/** One line for each price, with the networks that take it. */
function pricesOf(offers: readonly EntryOffer[]): readonly string[] {
  const networks = new Map<string, Set<string>>();
  for (const offer of offers) {
    const price = describePrice(offer);
    const name = networkName(offer.network) ?? printable(offer.network, 80);
    networks.set(price, (networks.get(price) ?? new Set()).add(name));
  }
  return [...networks].map(([price, names]) => `${price} on ${[...names].join(", ")}`);
}
