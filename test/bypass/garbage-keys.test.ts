/**
 * Keys of any text: either the table refuses one with a `ConfigError`, or it protects the route that Express 5 makes of the
 * same text. `draws.ts` says from which seeds keys are generated.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";
import { createPayments } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import express5, { type Express, type RequestHandler } from "express";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { readDraws } from "../draws.js";
import { collectWarnings } from "../express/shop.js";
import { PRICED } from "./purse.js";
import { openRawLine, type RawLine } from "./raw-line.js";

const draws = readDraws("keys of any text");

/** In one draw. */
const KEYS = 200;

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

const TOKENS = [
  ...["/", "/", "/a", "/B", ":b", "*c", "*", "{", "}", "{/d}", "{/:e}", "[f]", "[", "]", "\\", "\\*", "\\:", "\\{"],
  ...["(", ")", "(.*)", "+", "?", "!", "#", "%", "%20", "%2f", "\u00e9", "\u03bc", "\u212a", '"', ':"g h"', ".", "-"],
  ...[
    "//",
    ":",
    ":_",
    ":$",
    ":\u00e9",
    "*\u03bc",
    "..",
    "/./",
    "/../",
    ";",
    "@",
    "~",
    "\u0000",
    "\t",
    " ",
    "|",
    "^",
    "x",
  ],
];

const tokens = fc.array(fc.constantFrom(...TOKENS), { maxLength: 6 }).map((some) => some.join(""));
const method = fc.constantFrom("", "", "GET ", "POST ", "OPTIONS ", "HEAD ", "get ", "FETCH ", "GET  ");
const keys = fc.oneof(
  { weight: 1, arbitrary: fc.string({ unit: codeUnit }) },
  { weight: 1, arbitrary: fc.constantFrom("__proto__", "constructor", "toString", "GET", "", " ") },
  { weight: 8, arbitrary: fc.tuple(method, tokens).map(([word, path]) => `${word}/${path}`) },
);

test(
  "a key of any text is refused, or protects its route",
  async () => {
    // A key without a route is worth one.
    collectWarnings();
    const line = await openRawLine();
    onTestFinished(() => line.close());
    const tally = { keys: 0, accepted: 0, stopped: 0 };
    for (const seed of draws.seeds()) await tryKeys(line, seed, tally);
    console.log(`keys: ${JSON.stringify(tally)}`);
    expect(Math.min(tally.accepted, tally.stopped)).toBeGreaterThan(tally.keys / 50);
  },
  draws.timeoutMs,
);

const QUIET = { info() {}, warn() {}, error() {} };

interface Tally {
  keys: number;
  accepted: number;
  stopped: number;
}

async function tryKeys(line: RawLine, seed: number, tally: Tally): Promise<void> {
  const payments = createPayments({ facilitator: createTestFacilitator(), logger: QUIET });
  const tryKey = async (key: string) => {
    tally.keys++;
    const table = accept(() => payments.routes({ [key]: PRICED }));
    if (table === undefined) return;
    tally.accepted++;
    const open = buildApp(key);
    const priced = buildApp(key, table);
    if (open === undefined || priced === undefined) return;
    for (const request of requestsFor(key)) {
      if (!(await reaches(line, open, request))) continue;
      const isReached = await reaches(line, priced, request);
      expect(isReached, `${JSON.stringify(key)} and ${JSON.stringify(request)}`).toBe(false);
      tally.stopped++;
    }
  };
  await fc.assert(fc.asyncProperty(keys, tryKey), { seed, numRuns: KEYS });
}

/** The table, or nothing if it was refused as a configuration that cannot work. */
function accept(create: () => RequestHandler): RequestHandler | undefined {
  try {
    return create();
  } catch (error) {
    expect(error).toBeInstanceOf(FareboxError);
    expect(error).toMatchObject({ code: "ERR_FAREBOX_CONFIG" });
    return undefined;
  }
}

interface BuiltApp {
  readonly app: Express;
  /** Whether the route was reached since it was last asked. */
  takeReached(): boolean;
}

/** An app with a route of the key's own text, if Express takes that, behind the table. */
function buildApp(key: string, ...table: readonly RequestHandler[]): BuiltApp | undefined {
  let reached = false;
  const app = express5().set("env", "test");
  for (const handler of table) app.use(handler);
  try {
    app.all(pathOf(key), (_req, res) => {
      reached = true;
      res.end();
    });
  } catch {
    return undefined;
  }
  const takeReached = () => {
    const was = reached;
    reached = false;
    return was;
  };
  return { app, takeReached };
}

/** Whether an unpaid request reaches the route. */
async function reaches(line: RawLine, { app, takeReached }: BuiltApp, request: string): Promise<boolean> {
  line.serve(app);
  const answer = await line.ask(`${request}\r\nHost: x\r\nContent-Length: 0\r\n\r\n`, request.split(" ")[0] ?? "");
  expect(answer.kind, request).toBe("answered");
  return takeReached();
}

function pathOf(key: string): string {
  return key.replace(/^[^ /]* /, "");
}

/** Requests for what the path says, read by the letter: with and without its optional parts, and with loose ends. */
function requestsFor(key: string): readonly string[] {
  const named = /^([A-Z]+) /.exec(key)?.[1] ?? "GET";
  const targets = [true, false].flatMap((full) => {
    const target = sampleOf(pathOf(key), full);
    return [target, `${target}/`, target.toUpperCase(), `http://x${target}`];
  });
  return [...new Set(targets)].map((target) => `${named} ${toBytes(target)} HTTP/1.1`);
}

function sampleOf(path: string, full: boolean): string {
  const escaped: string[] = [];
  let sample = path.replace(/\\(.)/gsu, (_, char: string) => {
    escaped.push(char);
    return "\ue000";
  });
  sample = sample.replace(/:(?:"[^"]*"|[\p{ID_Start}$_][\p{ID_Continue}$]*)/gu, "s");
  sample = sample.replace(/\*(?:"[^"]*"|[\p{ID_Start}$_][\p{ID_Continue}$]*)/gu, "s/t");
  for (let before = ""; before !== sample; ) {
    before = sample;
    sample = sample.replace(/\{([^{}]*)\}/g, full ? "$1" : "");
  }
  return sample.replace(/\ue000/g, () => escaped.shift() ?? "");
}

/** What is no byte, or would end the request line, can only be sent encoded. */
function toBytes(target: string): string {
  return target.replace(/\p{Surrogate}/gu, "?").replace(/[\s\u0100-\uffff]/gu, encodeURIComponent);
}
