/**
 * `farebox doctor` and files that are not deployed yet.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { runFarebox } from "../run-farebox.js";
import { type Diagnosed, NOBODY } from "./sellers.js";

const PROGRAM = fileURLToPath(new URL("../../../packages/cli/dist/farebox.js", import.meta.url));
// The files are loaded from there, so that they find the packages.
const home = mkdtempSync(join(fileURLToPath(new URL("..", import.meta.url)), "sellers-"));
afterAll(() => rmSync(home, { recursive: true }));
// The command sets it, as a platform does.
afterEach(() => void vi.unstubAllEnvs());

const HEAD = `import { createPayments } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import express from "express";
const payTo = { "eip155:*": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" };
const networks = ["eip155:84532"];
const logger = { info() {}, warn() {}, error() {} };
const facilitator = createTestFacilitator();
`;
const APP = `export const app = express();
`;
const ROUTE = `app.get("/weather", (req, res) => res.json({}));
`;
const PAYMENTS = `export const payments = createPayments({ facilitator, payTo, networks, logger });
`;
const SOLD = `app.use(payments.routes({ "GET /weather": { price: "$0.001" } }));
`;
const IN_ORDER = HEAD + PAYMENTS + APP + SOLD + ROUTE;

let files = 0;

/** Each source has a file of its own: a module is loaded once. */
function write(source: string): string {
  const file = join(home, `server-${++files}.mjs`);
  writeFileSync(file, source);
  return file;
}

async function diagnose(source: string, ...options: string[]): Promise<Diagnosed & { readonly code: number }> {
  vi.stubEnv("WEB_CONCURRENCY", undefined);
  const { code, out, err } = await runFarebox(["doctor", write(source), "--json", ...options]);
  expect(err).toBe("");
  return { code, ...JSON.parse(out) };
}

test("a file in order has no errors, and its routes are asked", async () => {
  const { code, diagnoses, routes } = await diagnose(IN_ORDER);
  expect(code).toBe(0);
  expect(diagnoses.map(({ code: each }) => each)).toEqual(["FAREBOX_DOCTOR_CORS_MISSING"]);
  expect(routes).toMatchObject([{ route: expect.stringMatching(/^GET http:\/\/127\.0\.0\.1:\d+\/weather$/) }]);
});

test("the program prints no line of the seller among its results, and ends beside what the seller left open", async () => {
  const noisy = 'console.log("a line of the seller");\nsetInterval(() => {}, 1000);\n';
  const args = [PROGRAM, "doctor", write(noisy + IN_ORDER), "--json"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    env: { PATH: process.env["PATH"] },
  });
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, diagnoses: [{ code: "FAREBOX_DOCTOR_CORS_MISSING" }] });
  expect(stderr).toContain("a line of the seller");
});

test("options and routes are enough", async () => {
  const source = `${HEAD}export const options = { facilitator, payTo, networks, logger };\nexport const routes = { "GET /weather/:city": { price: "$0.001" } };\n`;
  const { code, routes } = await diagnose(source);
  expect(code).toBe(0);
  expect(routes).toMatchObject([{ route: expect.stringMatching(/\/weather\/1$/) }]);
});

describe("tells a file", () => {
  test("all that the configuration lacks, at once", async () => {
    const { code, diagnoses } = await diagnose(
      `${HEAD}export const options = { facilitator, payTo, networks: ["base-sepoliaa"], sotre: {} };\nexport const routes = { "GET /x": { price: "0.001 dollars" } };\n`,
    );
    expect(code).toBe(1);
    expect(diagnoses.length).toBeGreaterThan(1);
    expect(new Set(diagnoses.map(({ code: each }) => each))).toEqual(new Set(["FAREBOX_DOCTOR_CONFIG"]));
  });

  test("that throws what it would throw at start", async () => {
    const { diagnoses } = await diagnose(
      `${HEAD}export const payments = createPayments({ facilitator, payTo, netwroks: networks });\n`,
    );
    expect(diagnoses).toMatchObject([{ code: "FAREBOX_DOCTOR_CONFIG", message: expect.stringContaining("netwroks") }]);
  });

  test("that no route has the key", async () => {
    const { code, diagnoses } = await diagnose(HEAD + PAYMENTS + APP + SOLD.replace("weather", "wether") + ROUTE);
    expect(code).toBe(1);
    expect(diagnoses.map(({ code: each }) => each)).toContain("FAREBOX_KEY_UNREACHABLE");
  });

  test("that several processes share no store", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const { code, diagnoses } = await diagnose(IN_ORDER, "--processes", "2");
    const warnings = warn.mock.calls.map(([warning]) => String(warning));
    warn.mockRestore();
    expect(code).toBe(1);
    expect(warnings).toEqual([expect.stringContaining("Payments are stored in memory")]);
    expect(diagnoses).toContainEqual(
      expect.objectContaining({
        code: "FAREBOX_MEMORY_STORE",
        page: expect.stringMatching(/errors\.md#farebox_memory_store$/),
      }),
    );
  });

  test("that its facilitator is down", async () => {
    const { code, diagnoses } = await diagnose(IN_ORDER.replace("createTestFacilitator()", JSON.stringify(NOBODY)));
    expect(code).toBe(1);
    expect(diagnoses.map(({ code: each }) => each)).toContain("FAREBOX_FACILITATOR_DOWN");
  });

  test("that its store cannot be reached", async () => {
    const store = `import { redisStore } from "@farebox/stores/redis";
import { createClient } from "redis";
const client = createClient({ url: "${NOBODY.replace("http", "redis")}", socket: { reconnectStrategy: false } });
client.on("error", () => {});
const store = redisStore(client, { timeoutMs: 100 });
`;
    const { code, diagnoses } = await diagnose(store + IN_ORDER.replace("logger })", "logger, store })"));
    expect(code).toBe(1);
    expect(diagnoses.map(({ code: each }) => each)).toContain("FAREBOX_DOCTOR_STORE");
  });

  test.each([
    ["throws", 'throw new Error("no database");', /no database/],
    ["exports nothing", "export {};", /neither payments, nor options and routes/],
    ["has a mistake", "export const = 1;", /cannot be loaded/],
  ])("that %s", async (_what, source, message) => {
    const { code, diagnoses } = await diagnose(source);
    expect(code).toBe(1);
    expect(diagnoses).toMatchObject([{ code: "FAREBOX_DOCTOR_MODULE_FAILS", message: expect.stringMatching(message) }]);
  });
});
