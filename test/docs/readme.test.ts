/**
 * The README's first example, run as it is printed there, by a Node of its own.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { createPayer, createTestFacilitator, pay, startFacilitatorServer } from "@farebox/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const EXAMPLE = /```js\n([\s\S]*?)```/.exec(readFileSync(new URL("README.md", ROOT), "utf8"))?.[1] ?? "";

const payer = createPayer();
const facilitator = createTestFacilitator();
let facilitatorServer: Awaited<ReturnType<typeof startFacilitatorServer>>;
let seller: ReturnType<typeof spawn>;
let url: string;

beforeAll(async () => {
  facilitator.ledger.fund(payer.address, 1_000_000n);
  facilitatorServer = await startFacilitatorServer({ facilitator });
  seller = spawn(process.execPath, ["--input-type=module", "--eval", EXAMPLE], {
    cwd: ROOT,
    env: { ...process.env, PORT: String(await freePort()), FACILITATOR_URL: facilitatorServer.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  [url] = (await once(createInterface({ input: seller.stdout! }), "line")) as [string];
});

afterAll(async () => {
  seller.kill();
  await facilitatorServer.close();
});

test("the README's app answers 402 to a request without a payment", async () => {
  const { status, challenge, json } = await pay(url);
  expect(status).toBe(402);
  expect(challenge?.accepts[0]).toMatchObject({ scheme: "exact", network: "eip155:84532", amount: "1000" });
  expect(json()).toEqual(challenge);
});

test("the README's app sells the weather for one payment", async () => {
  const { status, json, receipt } = await pay(url, { payer });
  expect(status).toBe(200);
  expect(json()).toEqual({ weather: "sunny", temperature: 22 });
  expect(receipt).toMatchObject({ success: true, payer: payer.address });
  expect(facilitator.ledger.balanceOf("0x209693Bc6afc0C5328bA36FaF03C514EF312287C")).toBe(1000n);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
