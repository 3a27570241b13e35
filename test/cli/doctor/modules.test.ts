/**
 * `farebox doctor` and files that are not deployed yet.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import type { Diagnosed } from "./sellers.js";

const PROGRAM = fileURLToPath(new URL("../../../packages/cli/dist/farebox.js", import.meta.url));
// The files are loaded from there, so that they find the packages.
const home = mkdtempSync(join(fileURLToPath(new URL("..", import.meta.url)), "sellers-"));
afterAll(() => rmSync(home, { recursive: true }));

const HEAD = `import { createPayments } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import express from "express";
const payTo = { "eip155:*": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" };
const networks = ["eip155:84532"];
const facilitator = createTestFacilitator();
console.log("a line of the seller");
`;
const APP = `export const app = express();
`;
const ROUTE = `app.get("/weather", (req, res) => res.json({}));
`;

function diagnose(source: string, ...options: string[]): Diagnosed & { readonly code: number | null } {
  const file = join(home, "server.mjs");
  writeFileSync(file, source);
  const ran = spawnSync(process.execPath, [PROGRAM, "doctor", file, "--json", ...options], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
  });
  expect(ran.stdout).not.toBe("");
  return { code: ran.status, ...JSON.parse(ran.stdout) };
}

const PAYMENTS = `export const payments = createPayments({ facilitator, payTo, networks });
`;

test("a file in order has no errors, and its routes are asked", () => {
  const { code, diagnoses, routes } = diagnose(
    `${HEAD}${PAYMENTS}${APP}app.use(payments.routes({ "GET /weather": { price: "$0.001" } }));\n${ROUTE}`,
  );
  expect(code).toBe(0);
  expect(diagnoses.map(({ code: each }) => each)).toEqual(["FAREBOX_DOCTOR_CORS_MISSING"]);
  expect(routes).toMatchObject([{ route: expect.stringMatching(/^GET http:\/\/127\.0\.0\.1:\d+\/weather$/) }]);
});

test("options and routes are enough", () => {
  const source = `${HEAD}export const options = { facilitator, payTo, networks };\nexport const routes = { "GET /weather/:city": { price: "$0.001" } };\n`;
  const { code, routes } = diagnose(source);
  expect(code).toBe(0);
  expect(routes).toMatchObject([{ route: expect.stringMatching(/\/weather\/1$/) }]);
});

describe("tells a file", () => {
  test("all that the configuration lacks, at once", () => {
    const { code, diagnoses } = diagnose(
      `${HEAD}export const options = { facilitator, payTo, networks: ["base-sepoliaa"], sotre: {} };\nexport const routes = { "GET /x": { price: "0.001 dollars" } };\n`,
    );
    expect(code).toBe(1);
    expect(diagnoses.length).toBeGreaterThan(1);
    expect(new Set(diagnoses.map(({ code: each }) => each))).toEqual(new Set(["FAREBOX_DOCTOR_CONFIG"]));
  });

  test("that throws what it would throw at start", () => {
    const { diagnoses } = diagnose(
      `${HEAD}export const payments = createPayments({ facilitator, payTo, netwroks: networks });\n`,
    );
    expect(diagnoses).toMatchObject([{ code: "FAREBOX_DOCTOR_CONFIG", message: expect.stringContaining("netwroks") }]);
  });

  test("that no route has the key", () => {
    const { code, diagnoses } = diagnose(
      `${HEAD}${PAYMENTS}${APP}app.use(payments.routes({ "GET /wether": { price: "$0.001" } }));\n${ROUTE}`,
    );
    expect(code).toBe(1);
    expect(diagnoses.map(({ code: each }) => each)).toContain("FAREBOX_KEY_UNREACHABLE");
  });

  test("that several processes share no store", () => {
    const source = `${HEAD}${PAYMENTS}${APP}app.use(payments.routes({ "GET /weather": { price: "$0.001" } }));\n${ROUTE}`;
    const { code, diagnoses } = diagnose(source, "--processes", "2");
    expect(code).toBe(1);
    expect(diagnoses).toContainEqual(
      expect.objectContaining({
        code: "FAREBOX_MEMORY_STORE",
        page: expect.stringMatching(/errors\.md#farebox_memory_store$/),
      }),
    );
  });

  test("that its facilitator is down", () => {
    const source = HEAD.replace("createTestFacilitator()", '"http://127.0.0.1:59999"');
    const { code, diagnoses } = diagnose(
      `${source}${PAYMENTS}${APP}app.use(payments.routes({ "GET /weather": { price: "$0.001" } }));\n${ROUTE}`,
    );
    expect(code).toBe(1);
    expect(diagnoses.map(({ code: each }) => each)).toContain("FAREBOX_FACILITATOR_DOWN");
  });

  test("that its store cannot be reached", () => {
    const store = `import { redisStore } from "@farebox/stores/redis";
import { createClient } from "redis";
const client = createClient({ url: "redis://127.0.0.1:59999", socket: { reconnectStrategy: false } });
client.on("error", () => {});
`;
    const payments =
      "export const payments = createPayments({ facilitator, payTo, networks, store: redisStore(client, { timeoutMs: 500 }) });\n";
    const { code, diagnoses } = diagnose(
      `${store}${HEAD}${payments}${APP}app.use(payments.routes({ "GET /weather": { price: "$0.001" } }));\n${ROUTE}`,
    );
    expect(code).toBe(1);
    expect(diagnoses.map(({ code: each }) => each)).toContain("FAREBOX_DOCTOR_STORE");
  });

  test.each([
    ["throws", 'throw new Error("no database");', /no database/],
    ["exports nothing", "export {};", /neither payments, nor options and routes/],
    ["has a mistake", "export const = 1;", /cannot be loaded/],
  ])("that %s", (_what, source, message) => {
    const { code, diagnoses } = diagnose(source);
    expect(code).toBe(1);
    expect(diagnoses).toMatchObject([{ code: "FAREBOX_DOCTOR_MODULE_FAILS", message: expect.stringMatching(message) }]);
  });
});
