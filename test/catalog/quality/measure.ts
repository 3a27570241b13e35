/**
 * Measures how often a search ranks the expected service first, and among the first three.
 *
 * @module
 */
import { setImmediate } from "node:timers/promises";
import type { Catalog, Registration } from "@farebox/bazaar/facilitator";
import { type SampleService, SERVICES } from "./services.js";

/** Questions, each with the id of the expected service. */
export type Questions = readonly (readonly [query: string, expected: string])[];

/** The result of one question. */
export interface SearchResult {
  readonly query: string;
  readonly expected: string;
  /** Rank of the expected service, from 1; 0 when it is not found. */
  readonly place: number;
  readonly first: string | undefined;
  /** How many entries were found. */
  readonly found: number;
}

/** Registers every sample, and waits until each has its vector. */
export async function listSamples(catalog: Catalog, services: readonly SampleService[] = SERVICES): Promise<void> {
  for (const service of services) await catalog.register(toRegistration(service));
  while ((await catalog.search({ query: "weather", limit: 1 })).isPartial) await setImmediate();
}

/** Searches for every question. */
export async function search(catalog: Catalog, questions: Questions): Promise<readonly SearchResult[]> {
  const results: SearchResult[] = [];
  for (const [query, expected] of questions) {
    const { entries } = await catalog.search({ query, limit: 100 });
    const ids = entries.map(({ resource }) => resource.replace(/^https:\/\/[^/]+\/|^mcp:\/\/tool\//, ""));
    results.push({ query, expected, place: ids.indexOf(expected) + 1, first: ids[0], found: ids.length });
  }
  return results;
}

/** The number of questions whose service is among the first `most`. */
export function countWithin(results: readonly SearchResult[], most: number): number {
  return results.filter(({ place }) => place > 0 && place <= most).length;
}

/** The registration that a payment for a sample would make. */
export function toRegistration({ id, tool, description, parameters }: SampleService): Registration {
  const properties = Object.fromEntries(
    Object.entries(parameters).map(([name, text]) => [name, { type: "string", description: text }]),
  );
  const offer = {
    scheme: "exact",
    network: "eip155:84532",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    amount: "1000",
    maxTimeoutSeconds: 60,
    extra: {},
  };
  if (tool === true) {
    const inputSchema = { type: "object", properties };
    const info = { input: { type: "mcp" as const, toolName: id, description, inputSchema } };
    return { type: "mcp", resource: `mcp://tool/${id}`, toolName: id, info, schema: {}, description, offer };
  }
  const info = { input: { type: "http" as const, method: "GET", queryParams: {} } };
  const schema = { properties: { input: { properties: { queryParams: { properties } } } } };
  return { type: "http", resource: `https://api.example.com/${id}`, toolName: "", info, schema, description, offer };
}
