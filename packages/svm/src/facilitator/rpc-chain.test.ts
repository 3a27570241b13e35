/**
 * A chain over JSON-RPC whose node responds with anything. For the responses of an honest node see `test/svm`.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import type { FacilitatorRequest } from "@farebox/core";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FEE_PAYER, NETWORK, payload, transaction as payment, requirements } from "../payments.fixture.js";
import { createRpcSvmChain } from "./rpc-chain.js";
import { createExactSvmScheme } from "./scheme.js";

type Reply = (id: unknown, method: string, res: ServerResponse) => void;

function createNode(reply: Reply): Server {
  const read = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let text = "";
    for await (const chunk of req) text += chunk;
    const { id, method } = JSON.parse(text) as { readonly id: unknown; readonly method: string };
    reply(id, method, res);
  };
  return createServer({ keepAliveTimeout: 0 }, (req, res) => void read(req, res).catch(() => res.destroy()));
}

let respond: (method: string) => unknown = () => null;

const server = createNode((id, method, res) => {
  const result = method === "getGenesisHash" ? `${NETWORK.slice(7)}wcaWoxPkrZBG` : respond(method);
  res.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result: result ?? null }));
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
  const value = fc.oneof(json, fc.record({ context: fc.record({ slot: fc.oneof(fc.nat(), json) }), value: json }));
  const chain = createRpcSvmChain({
    network: NETWORK,
    rpcUrl: `http://127.0.0.1:${port}`,
    privateKey: FEE_PAYER.secretKey,
    // Two looks for each transaction that the node does not confirm.
    pollingIntervalMs: 100,
    confirmTimeoutMs: 100,
    requestTimeoutMs: 60_000,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 6 }), async (values) => {
      let at = 0;
      respond = () => values[at++ % values.length];
      const scheme = createExactSvmScheme({ chain });
      expect(await scheme.verify(request)).toMatchObject({ isValid: false });
      expect(await scheme.settle(request)).toMatchObject({ success: false });
      expect(typeof (await scheme.health()).ok).toBe("boolean");
    }),
    { numRuns: 15 },
  );
});

test("a transaction counts as confirmed at the depth of the option commitment", async () => {
  const { port } = server.address() as AddressInfo;
  const options = { network: NETWORK, rpcUrl: `http://127.0.0.1:${port}`, privateKey: FEE_PAYER.secretKey } as const;
  const statusAt = (confirmationStatus: string, err: unknown = null) => {
    respond = () => ({ context: { slot: 1 }, value: [{ slot: 1, confirmations: 1, err, confirmationStatus }] });
  };
  const [usual, deep] = [createRpcSvmChain(options), createRpcSvmChain({ ...options, commitment: "finalized" })];
  for (const [status, shallow, final] of [
    ["processed", "pending", "pending"],
    ["confirmed", "confirmed", "pending"],
    ["finalized", "confirmed", "confirmed"],
  ] as const) {
    statusAt(status);
    expect([await usual.statusOf("x"), await deep.statusOf("x")]).toEqual([shallow, final]);
    statusAt(status, { InstructionError: [0, "x"] });
    const failed = (said: string) => (said === "confirmed" ? "failed" : said);
    expect([await usual.statusOf("x"), await deep.statusOf("x")]).toEqual([failed(shallow), failed(final)]);
  }
  respond = () => ({ context: { slot: 1 }, value: [null] });
  expect(await usual.statusOf("x")).toBe("pending");
});

test("a transaction is dropped only when a node that is not behind the slot of sending does not know it", async () => {
  const { port } = server.address() as AddressInfo;
  const chain = createRpcSvmChain({
    network: NETWORK,
    rpcUrl: `http://127.0.0.1:${port}`,
    privateKey: FEE_PAYER.secretKey,
    pollingIntervalMs: 10,
    confirmTimeoutMs: 100,
    requestTimeoutMs: 60_000,
  });
  const says = (validity: { readonly slot: number; readonly value: boolean }, status: object) => {
    respond = (method) => {
      if (method === "getSignatureStatuses") return status;
      return method === "isBlockhashValid" ? { context: { slot: validity.slot }, value: validity.value } : null;
    };
  };
  const none = (slot: number) => ({ context: { slot }, value: [null] });
  const processed = { context: { slot: 30 }, value: [{ slot: 30, err: null, confirmationStatus: "processed" }] };

  says({ slot: 10, value: true }, none(10));
  const transaction = {
    message: payment().message.serialize(),
    payerSignature: Buffer.alloc(64),
    blockhash: "any",
    feeLamports: 1n,
  };
  const signature = await chain.submit(transaction);
  expect(await chain.outcomeOf(signature)).toBe("pending");
  says({ slot: 9, value: false }, none(30));
  expect(await chain.outcomeOf(signature), "a node that is behind").toBe("pending");
  says({ slot: 20, value: false }, none(19));
  expect(await chain.outcomeOf(signature), "a status of before").toBe("pending");
  says({ slot: 20, value: false }, processed);
  expect(await chain.outcomeOf(signature), "on its way").toBe("pending");
  says({ slot: 20, value: false }, none(20));
  expect(await chain.outcomeOf(signature)).toBe("dropped");
  await expect(chain.submit(transaction)).rejects.toMatchObject({ code: "ERR_FAREBOX_CHAIN" });
});

test.each<[what: string, status: number, body: string, problem: string]>([
  ["fails with a secret", 500, "secret", "node responded to getBalance with status 500"],
  ["limits the rate", 429, "secret", "node responded to getBalance with status 429"],
  ["redirects", 302, "secret", "node responded to getBalance with status 302"],
  ["refuses the question", 200, '{"error":{"code":-32000,"message":"secret"}}', "refused getBalance with code -32000"],
  ["responds with another type", 200, '{"result":{"context":{"slot":1},"value":"secret"}}', "getBalance is unreadable"],
  ["responds with text", 200, "secret", "node sent an invalid response to getBalance"],
  ["responds without end", 200, `"${"secret".repeat(200_000)}"`, "longer than 1048576 bytes"],
])("a node that %s is asked once, and neither its response nor its URL is quoted", async (_, status, body, problem) => {
  let asked = 0;
  const rude = createNode((id, method, res) => {
    if (method === "getGenesisHash") {
      return void res.end(JSON.stringify({ jsonrpc: "2.0", id, result: `${NETWORK.slice(7)}wcaWoxPkrZBG` }));
    }
    asked++;
    res.statusCode = status;
    if (status === 302) res.setHeader("location", "/secret");
    res.end(body.startsWith("{") ? JSON.stringify({ jsonrpc: "2.0", id, ...JSON.parse(body) }) : body);
  });
  rude.listen(0, "127.0.0.1");
  await once(rude, "listening");
  const { port } = rude.address() as AddressInfo;
  const rpcUrl = `http://127.0.0.1:${port}/?api-key=secret`;
  const chain = createRpcSvmChain({ network: NETWORK, rpcUrl, privateKey: FEE_PAYER.secretKey });
  const health = await chain.health();
  expect(health).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  expect(health.problem).not.toMatch(/secret|127\.0\.0\.1/);
  expect(asked).toBe(1);
  const accounts = await chain.readAccounts([FEE_PAYER.publicKey.toBase58()]).catch((error: unknown) => error);
  expect(accounts).toMatchObject({ code: "ERR_FAREBOX_RPC" });
  expect(inspect(accounts, { depth: 9 })).not.toMatch(/secret|127\.0\.0\.1/);
  rude.closeAllConnections();
  rude.close();
});

test("a message that the library would serialize differently is neither simulated nor signed", async () => {
  const { port } = server.address() as AddressInfo;
  const options = { network: NETWORK, rpcUrl: `http://127.0.0.1:${port}`, privateKey: FEE_PAYER.secretKey } as const;
  const chain = createRpcSvmChain(options);
  const message = payment().message.serialize();
  const longer = Buffer.concat([message, Buffer.of(0)]);
  respond = () => ({ context: { slot: 1 }, value: { err: null, logs: [] } });
  const signed = (bytes: Uint8Array) => ({
    message: bytes,
    payerSignature: Buffer.alloc(64),
    blockhash: "any",
    feeLamports: 1n,
  });
  expect(await chain.simulate(signed(message))).toEqual({ ok: true });
  expect(await chain.signatureOf(signed(message))).toMatch(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/);
  for (const bytes of [longer, Buffer.from("any"), Buffer.alloc(0)]) {
    await expect(chain.simulate(signed(bytes))).rejects.toMatchObject({ code: "ERR_FAREBOX_CHAIN" });
    await expect(chain.signatureOf(signed(bytes))).rejects.toThrow();
  }
});
