/**
 * A chain over REST whose node responds with anything. For the responses of an honest node see `test/avm`.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import type { FacilitatorRequest } from "@farebox/core";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FEE_PAYER, GENESIS_HASH, MAINNET, NETWORK, payload, requirements, transfer } from "../payments.fixture.js";
import { createAlgodChain } from "./rpc-chain.js";
import { createExactAvmScheme } from "./scheme.js";

let respond: () => readonly [status: number, body: unknown] = () => [200, null];

const server = createServer({ keepAliveTimeout: 0 }, (req, res) => {
  const params = { "genesis-hash": GENESIS_HASH.toString("base64"), "last-round": 50_010 };
  const [status, body] = req.url === "/v2/transactions/params" ? [200, params] : respond();
  req.resume();
  res.statusCode = status;
  res.setHeader("content-type", "application/json").end(JSON.stringify(body ?? null));
});

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test("a chain never rejects, and settles only what its node confirms, for any responses of the node", async () => {
  const { port } = server.address() as AddressInfo;
  const request: FacilitatorRequest = {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: requirements(), payload: payload() },
    paymentRequirements: requirements(),
  };
  const json = fc.jsonValue();
  const keys = ["asset-holding", "amount", "txn-groups", "failure-message", "pool-error", "min-balance"];
  const value = fc.oneof(
    json,
    fc.dictionary(fc.constantFrom(...keys), json),
    fc.record({ "asset-holding": fc.record({ amount: fc.oneof(fc.nat(), json) }) }),
    fc.record({ "txn-groups": fc.array(fc.record({ "txn-results": json }), { maxLength: 2 }) }),
  );
  const said = fc.tuple(fc.constantFrom(200, 200, 200, 302, 404, 500), value);
  const chain = createAlgodChain({
    network: NETWORK,
    algodUrl: `http://127.0.0.1:${port}`,
    privateKey: FEE_PAYER.sk,
    // Two looks for each transaction that the node does not confirm.
    pollingIntervalMs: 100,
    confirmTimeoutMs: 100,
    requestTimeoutMs: 60_000,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(said, { minLength: 1, maxLength: 6 }), async (values) => {
      let at = 0;
      respond = () => values[at++ % values.length] ?? [500, null];
      const scheme = createExactAvmScheme({ chain });
      expect(typeof (await scheme.verify(request)).isValid).toBe("boolean");
      expect(await scheme.settle(request)).toMatchObject({ success: false });
      expect(typeof (await scheme.health()).ok).toBe("boolean");
    }),
    { numRuns: 15 },
  );
});

test.each<[what: string, change: object, problem: string]>([
  ["another network", { network: MAINNET }, `the node is not of ${MAINNET}`],
  ["no node", { algodUrl: "http://127.0.0.1:1" }, "the node could not be reached"],
])("a chain reports %s, and sends nothing", async (_, change, problem) => {
  const { port } = server.address() as AddressInfo;
  const options = {
    network: NETWORK,
    algodUrl: `http://127.0.0.1:${port}`,
    privateKey: FEE_PAYER.sk,
    ...change,
  } as const;
  const chain = createAlgodChain(options);
  expect(await chain.health()).toEqual({ ok: false, problem });
  const group = { members: [], transfer: { id: "A", firstValid: 1n, lastValid: 2n }, feeMicroAlgos: 1n };
  await expect(chain.submit(group)).rejects.toMatchObject({ code: "ERR_FAREBOX_CHAIN", message: problem });
});

test("a chain does not wait for a silent node, and does not read an endless response", async () => {
  const talker = createServer({ keepAliveTimeout: 0 }, (req, res) => {
    req.resume();
    if (req.url?.startsWith("/much")) res.end("x".repeat(2 * 1024 * 1024));
  });
  talker.listen(0, "127.0.0.1");
  await once(talker, "listening");
  const { port } = talker.address() as AddressInfo;
  const problemAt = async (path: string, requestTimeoutMs: number) => {
    const algodUrl = `http://127.0.0.1:${port}${path}`;
    const chain = createAlgodChain({ network: NETWORK, algodUrl, privateKey: FEE_PAYER.sk, requestTimeoutMs });
    return (await chain.health()).problem;
  };
  expect(await problemAt("/nothing", 100)).toBe("the node did not respond within 100 ms");
  // A busy machine needs longer than that to read a megabyte.
  expect(await problemAt("/much", 10_000)).toBe("the node's response is longer than 1048576 bytes");
  talker.closeAllConnections();
  talker.close();
});

test.each<[what: string, status: number, body: string, problem: string]>([
  ["fails with a secret", 500, '{"message":"secret"}', "the node responded with status 500"],
  ["demands another token", 401, '{"message":"secret"}', "the node responded with status 401"],
  ["redirects", 302, "secret", "the node responded with status 302"],
  ["has no such account", 404, '{"message":"secret"}', "the node responded with status 404"],
  ["responds with another type", 200, '{"amount":"secret"}', "the node's response is unreadable"],
  ["responds with text", 200, "secret", "the node's response is unreadable"],
  ["responds with deeply nested JSON", 200, `${"[".repeat(500_000)}"secret"`, "the node's response is unreadable"],
])("a node that %s is asked once, and neither its response nor its URL is quoted", async (_, status, body, problem) => {
  const asked: string[] = [];
  const rude = createServer({ keepAliveTimeout: 0 }, (req, res) => {
    req.resume();
    const isState = req.url?.startsWith("/secret/v2/transactions/params") === true;
    const state = { "genesis-hash": GENESIS_HASH.toString("base64"), "last-round": 50_010 };
    if (isState) return void res.end(JSON.stringify(state));
    asked.push(`${req.headers["x-algo-api-token"]}`);
    res.statusCode = status;
    if (status === 302) res.setHeader("location", "/secret");
    res.end(body);
  });
  rude.listen(0, "127.0.0.1");
  await once(rude, "listening");
  const { port } = rude.address() as AddressInfo;
  const algodUrl = `http://127.0.0.1:${port}/secret`;
  const chain = createAlgodChain({ network: NETWORK, algodUrl, token: "secret-token", privateKey: FEE_PAYER.sk });
  const health = await chain.health();
  expect(health).toEqual({ ok: false, problem });
  expect(asked).toEqual(["secret-token"]);
  const group = { members: [], transfer: { id: "A", firstValid: 1n, lastValid: 2n }, feeMicroAlgos: 1n };
  const simulated = await chain.simulate(group).catch((error: unknown) => error);
  expect(simulated).toMatchObject({ code: "ERR_FAREBOX_CHAIN" });
  expect(inspect(simulated, { depth: 9 })).not.toMatch(/secret|127\.0\.0\.1/);
  rude.closeAllConnections();
  rude.close();
});

test("a transaction that the library would serialize differently is neither simulated nor sent", async () => {
  const { port } = server.address() as AddressInfo;
  const chain = createAlgodChain({
    network: NETWORK,
    algodUrl: `http://127.0.0.1:${port}`,
    privateKey: FEE_PAYER.sk,
  });
  const bytes = Buffer.from(transfer().toByte());
  // The same map, with its size in two more bytes.
  const longer = Buffer.concat([Buffer.of(0xde, 0, (bytes[0] ?? 0) & 0x0f), bytes.subarray(1)]);
  for (const member of [longer, Buffer.concat([bytes, Buffer.of(0)]), Buffer.from("any"), Buffer.alloc(0)]) {
    const members = [{ bytes: member, signature: Buffer.alloc(64) }];
    const group = { members, transfer: { id: "A", firstValid: 1n, lastValid: 2n }, feeMicroAlgos: 1n };
    await expect(chain.simulate(group)).rejects.toMatchObject({ code: "ERR_FAREBOX_CHAIN" });
    await expect(chain.submit(group)).rejects.toMatchObject({ code: "ERR_FAREBOX_CHAIN" });
  }
});

test("a transaction is never dropped if the node does not tell its round", async () => {
  let states: readonly object[] = [];
  let asked = 0;
  const forgetful = createServer({ keepAliveTimeout: 0 }, (req, res) => {
    req.resume();
    if (req.url?.startsWith("/v2/transactions/params") !== true) return void res.writeHead(404).end("{}");
    res.end(JSON.stringify({ "genesis-hash": GENESIS_HASH.toString("base64"), ...states[asked++ % states.length] }));
  });
  forgetful.listen(0, "127.0.0.1");
  await once(forgetful, "listening");
  const { port } = forgetful.address() as AddressInfo;
  const chain = createAlgodChain({
    network: NETWORK,
    algodUrl: `http://127.0.0.1:${port}`,
    privateKey: FEE_PAYER.sk,
    pollingIntervalMs: 10,
    confirmTimeoutMs: 100,
    requestTimeoutMs: 60_000,
  });
  const transaction = { id: transfer().txID(), firstValid: 50_000n, lastValid: 50_100n };
  states = [{ "last-round": 50_200 }, {}];
  await expect(chain.statusOf(transaction)).rejects.toMatchObject({ message: "the node's response is unreadable" });
  expect(await chain.outcomeOf(transaction)).toBe("pending");
  states = [{ "last-round": 50_200 }];
  expect(await chain.outcomeOf(transaction)).toBe("dropped");
  forgetful.closeAllConnections();
  forgetful.close();
});
