/**
 * Generated sellers and clients, each tried on the reference and on `@farebox/compat`, with one facilitator in the process. Every
 * difference between them is one of those in `docs/reference/compat-differences.md`.
 *
 * `pnpm test` tries 40 of them, always the same; `pnpm test:compat` tries 500. A failure prints the seed, and
 * `FAREBOX_ALL_DIFFERENCES=/tmp/all.txt` writes each difference without an explanation into a file.
 */
import { writeFileSync } from "node:fs";
import * as compatLibrary from "@farebox/compat";
import * as exactServer from "@x402/evm/exact/server";
import * as uptoServer from "@x402/evm/upto/server";
import * as referenceExpress from "@x402/express";
import * as bazaar from "@x402/extensions/bazaar";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { SEED } from "../../draws.js";
import { normalize } from "./compare.js";
import { differencesOf } from "./differences.js";
import { type Plan, plans } from "./plan.js";
import { type Counter, type Library, openCounter } from "./shop.js";

const PLANS = Number(process.env["FAREBOX_PLANS"] ?? 40);

const reference: Library = { ...referenceExpress, ...bazaar, ...exactServer, ...uptoServer };
const depth2: Library = { ...bazaar, ...(compatLibrary as unknown as Library) };
/** A file in which only the imports of `@x402/express` changed. */
const depth1: Library = {
  ...reference,
  paymentMiddlewareFromHTTPServer: depth2.paymentMiddlewareFromHTTPServer,
  setSettlementOverrides: depth2.setSettlementOverrides,
  x402HTTPResourceServer: depth2.x402HTTPResourceServer,
};

let theirs: Counter;
let ours: Readonly<Record<Plan["depth"], Counter>>;

beforeAll(async () => {
  // The reference warns of hooks that throw, and logs what handlers throw.
  for (const name of ["warn", "error"] as const) vi.spyOn(console, name).mockImplementation(() => {});
  theirs = await openCounter(reference);
  ours = { 1: await openCounter(depth1), 2: await openCounter(depth2) };
});

afterAll(() => Promise.all([theirs, ours[1], ours[2]].map((each) => each.close())));

test(`differs only where it is meant to: ${PLANS} sellers of seed ${SEED}`, { timeout: 600_000 }, async () => {
  const counts = new Map<string, number>();
  const unexplained: string[] = [];
  for (const plan of fc.sample(plans, { numRuns: PLANS, seed: SEED })) {
    for (const { heading, text } of differencesOf(await run(theirs, plan), await run(ours[plan.depth], plan), plan)) {
      counts.set(heading ?? "unexplained", (counts.get(heading ?? "unexplained") ?? 0) + 1);
      if (heading === undefined) unexplained.push(`${text}, of ${JSON.stringify(plan)}`);
    }
  }
  if (process.env["FAREBOX_PLANS"])
    console.log([...counts].map(([heading, count]) => `${count} × ${heading}`).join("\n"));
  if (process.env["FAREBOX_ALL_DIFFERENCES"])
    writeFileSync(process.env["FAREBOX_ALL_DIFFERENCES"], unexplained.join("\n"));
  expect(
    unexplained.slice(0, 5),
    `${unexplained.length} differences, FAREBOX_SEED=${SEED} FAREBOX_PLANS=${PLANS}`,
  ).toEqual([]);
});

async function run(counter: Counter, plan: Plan) {
  const observed = await counter.trade(plan);
  return normalize(observed, {
    "http://127\\.0\\.0\\.1:\\d+": "http://shop",
    "0x[0-9a-f]{64}": "(transaction)",
    '(?<="facilitatorAddress":")\\w+': "(facilitator)",
  });
}
