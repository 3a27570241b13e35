import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { PaymentPayload, PaymentRequired, SettlementResponse } from "@farebox/core";
import { createPayer, type PayTarget, pay } from "@farebox/testing";
import express, { type Express } from "express";
import { recoverTypedDataAddress, toHex } from "viem";
import { describe, expect, test } from "vitest";

/** Express 4 has no types here. */
const express4: typeof express = createRequire(import.meta.url)("express4");

const OFFER = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "10000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
} as const;

const CHALLENGE: PaymentRequired = {
  x402Version: 2,
  error: "Payment required",
  resource: { url: "http://shop.example/weather", description: "Weather", mimeType: "application/json" },
  accepts: [OFFER],
  extensions: { bazaar: { info: { a: 1 }, schema: { type: "object" } } },
};

const RECEIPT: SettlementResponse = { success: true, transaction: "0x01", network: "eip155:84532", payer: "0x02" };

const toBase64 = (document: unknown) => Buffer.from(JSON.stringify(document)).toString("base64");

/** A seller that accepts every payment, and responds with the request. */
function createShop(challenge: unknown = CHALLENGE, factory: () => Express = express): Express {
  const app = factory();
  app.use(express.raw({ type: () => true }), (req, res) => {
    const payment = req.get("PAYMENT-SIGNATURE");
    if (payment === undefined) {
      res.status(402).set("PAYMENT-REQUIRED", toBase64(challenge)).json({});
      return;
    }
    const body = Buffer.isBuffer(req.body) ? req.body.toString() : "";
    res.set("PAYMENT-RESPONSE", toBase64(RECEIPT));
    res.json({ method: req.method, url: req.url, headers: req.headers, body, payment });
  });
  return app;
}

function received(result: { json(): unknown }) {
  const echo = result.json() as { method: string; url: string; headers: Record<string, string>; body: string };
  const header = echo.headers["payment-signature"] ?? "";
  return { ...echo, payment: JSON.parse(Buffer.from(header, "base64").toString()) as PaymentPayload };
}

describe("pay", () => {
  const payer = createPayer({ privateKey: toHex(5n, { size: 32 }) });

  test("pay pays the challenge, and returns response, challenge, payment and receipt", async () => {
    const result = await pay(createShop(), { path: "/weather", payer });
    expect(result).toMatchObject({ status: 200, challenge: CHALLENGE, receipt: RECEIPT });
    expect(result.headers["content-type"]).toContain("application/json");
    expect(result.body.toString()).toBe(result.text);
    expect(received(result).payment).toEqual(result.payment);
  });

  test("the payment echoes the offer, the resource and the extensions of the challenge", async () => {
    const { payment } = await pay(createShop(), { payer });
    expect(payment).toMatchObject({
      x402Version: 2,
      accepted: OFFER,
      resource: CHALLENGE.resource,
      extensions: CHALLENGE.extensions,
    });
  });

  test("each payment has a new nonce, and expires maxTimeoutSeconds from now", async () => {
    const now = () => 1_800_000_000_999;
    const first = await pay(createShop(), { payer, now });
    const second = await pay(createShop(), { payer, now });
    expect(first.payment?.payload["authorization"]).toMatchObject({
      from: payer.address,
      to: OFFER.payTo,
      value: "10000",
      validAfter: "0",
      validBefore: "1800000060",
      nonce: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    expect(first.payment?.payload).not.toEqual(second.payment?.payload);
  });

  test("the payer signs with EIP-712 in the domain of the asset", async () => {
    const { payment } = await pay(createShop(), { payer });
    const { authorization, signature } = payment!.payload as {
      authorization: { from: `0x${string}`; to: `0x${string}`; validBefore: string; nonce: `0x${string}` };
      signature: `0x${string}`;
    };
    const { from, to, validBefore, nonce } = authorization;
    const signer = await recoverTypedDataAddress({
      domain: { name: "USDC", version: "2", chainId: 84532, verifyingContract: OFFER.asset },
      types: {
        TransferWithAuthorization: [
          { name: "from", type: "address" },
          { name: "to", type: "address" },
          { name: "value", type: "uint256" },
          { name: "validAfter", type: "uint256" },
          { name: "validBefore", type: "uint256" },
          { name: "nonce", type: "bytes32" },
        ],
      },
      primaryType: "TransferWithAuthorization",
      message: { from, to, value: 10_000n, validAfter: 0n, validBefore: BigInt(validBefore), nonce },
      signature,
    });
    expect(signer).toBe(payer.address);
  });

  test("pay returns the 402 and the challenge without a payer", async () => {
    const result = await pay(createShop());
    expect(result).toMatchObject({ status: 402, challenge: CHALLENGE, payment: undefined, receipt: undefined });
  });

  test("pay sends one request when the response is not 402", async () => {
    let asked = 0;
    const open = createServer((_req, res) => {
      asked += 1;
      res.end("free");
    });
    expect(await pay(open, { payer })).toMatchObject({ status: 200, text: "free", challenge: undefined });
    expect(asked).toBe(1);
  });

  test.each([200, 400, 503])("pay pays nothing for a response with status %i and a challenge", async (status) => {
    const demanding = createServer((_req, res) => {
      res.writeHead(status, { "PAYMENT-REQUIRED": toBase64(CHALLENGE) }).end();
    });
    expect(await pay(demanding, { payer })).toMatchObject({ status, challenge: CHALLENGE, payment: undefined });
  });

  test("pay returns a refused payment with the reason of the new challenge, after two requests", async () => {
    const challenges = [CHALLENGE, { ...CHALLENGE, error: "insufficient_funds" }];
    const refusing = createServer((_req, res) => {
      res.writeHead(402, { "PAYMENT-REQUIRED": toBase64(challenges.shift()) }).end("{}");
    });
    const result = await pay(refusing, { payer });
    expect(result).toMatchObject({ status: 402, challenge: { error: "insufficient_funds" } });
    expect(result.payment).toBeDefined();
    expect(challenges).toEqual([]);
  });

  test("pay pays the first offer that it can pay", async () => {
    const solana = { ...OFFER, network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" };
    const permit2 = { ...OFFER, extra: { ...OFFER.extra, assetTransferMethod: "permit2" } };
    const nameless = { ...OFFER, extra: {} };
    const payable = { ...OFFER, amount: "7" };
    const accepts = [solana, { ...OFFER, scheme: "upto" }, permit2, nameless, payable, OFFER];
    const result = await pay(createShop({ ...CHALLENGE, accepts }), { payer });
    expect(result.payment?.accepted).toEqual(payable);
    expect((await pay(createShop({ ...CHALLENGE, accepts: [solana] }), { payer })).status).toBe(402);
  });

  test("pay pays the offer that select chooses, or nothing", async () => {
    const other = { ...OFFER, amount: "20000" };
    const shop = createShop({ ...CHALLENGE, accepts: [OFFER, other] });
    expect((await pay(shop, { payer, select: (offers) => offers[1] })).payment?.accepted).toEqual(other);
    expect((await pay(shop, { payer, select: () => undefined })).status).toBe(402);
  });

  test("pay sends the payment that mutate returns", async () => {
    const changed = await pay(createShop(), { payer, mutate: (payment) => ({ ...payment, resource: { url: "x:y" } }) });
    expect(received(changed).payment.resource).toEqual({ url: "x:y" });
    const raw = await pay(createShop(), { payer, mutate: () => "not base64!" });
    expect(raw.json()).toMatchObject({ payment: "not base64!" });
    expect(raw.payment).toBeUndefined();
  });

  test("pay sends a given payment with its only request", async () => {
    const { payment } = await pay(createShop(), { payer });
    const again = await pay(createShop(), { payment: payment! });
    expect(again).toMatchObject({ status: 200, challenge: undefined, payment });
    expect(received(again).payment).toEqual(payment);
  });

  test.each<[string, unknown, string, string | undefined]>([
    ["text", "a=b", "a=b", undefined],
    ["bytes", Buffer.from("a=b"), "a=b", undefined],
    ["JSON", { a: [1] }, '{"a":[1]}', "application/json"],
    ["null as JSON", null, "null", "application/json"],
  ])("pay posts %s with both requests", async (_what, body, sent, type) => {
    const echo = received(await pay(createShop(), { payer, body }));
    expect(echo).toMatchObject({ method: "POST", body: sent });
    expect(echo.headers["content-type"]).toBe(type);
  });

  test("pay sends method, headers and path unchanged", async () => {
    const options = { payer, method: "PUT", headers: { "X-Tenant": "a", host: "shop.example" } };
    const echo = received(await pay(createShop(), { ...options, path: "/a/..//b%2F?q=%zz" }));
    expect(echo).toMatchObject({ method: "PUT", url: "/a/..//b%2F?q=%zz" });
    expect(echo.headers).toMatchObject({ "x-tenant": "a", host: "shop.example" });
  });

  test("a malformed challenge is ignored", async () => {
    for (const header of [
      "%%%",
      toBase64(null),
      toBase64({ x402Version: 1 }),
      toBase64({ ...CHALLENGE, accepts: {} }),
    ]) {
      const odd = createServer((_req, res) => res.writeHead(402, { "PAYMENT-REQUIRED": header }).end());
      expect(await pay(odd, { payer })).toMatchObject({ status: 402, challenge: undefined, payment: undefined });
    }
  });

  describe("targets", () => {
    async function listening() {
      const server = createServer(createShop()).listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }

    test("pay opens an Express 4 and an Express 5 app", async () => {
      for (const factory of [express, express4]) {
        expect((await pay(createShop(CHALLENGE, factory), { payer, path: "/x" })).status).toBe(200);
      }
    });

    test("pay leaves a listening server open", async () => {
      const server = await listening();
      expect((await pay(server, { payer })).status).toBe(200);
      expect(server.listening).toBe(true);
      server.close();
    });

    test("pay opens and closes a server that does not listen", async () => {
      const server = createServer(createShop());
      expect((await pay(server, { payer })).status).toBe(200);
      expect(server.listening).toBe(false);
    });

    test("pay requests the path of a URL, or another path", async () => {
      const server = await listening();
      const { port } = server.address() as { port: number };
      const url = `http://127.0.0.1:${port}/own?q=1`;
      expect(received(await pay(url, { payer })).url).toBe("/own?q=1");
      expect(received(await pay(new URL(url), { payer, path: "/other" })).url).toBe("/other");
      server.close();
    });
  });

  describe("errors", () => {
    const misuse = { name: "PayerError", code: "ERR_FAREBOX_PAYER" };

    test.each<[string, unknown]>([
      ["a URL of another protocol", "ftp://127.0.0.1/"],
      ["text that is not a URL", "weather"],
      ["an object", {}],
    ])("pay throws a PayerError when the target is %s", async (_what, target) => {
      await expect(pay(target as PayTarget)).rejects.toMatchObject(misuse);
    });

    test("pay throws a PayerError when no server listens", async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as { port: number };
      server.close();
      await once(server, "close");
      await expect(pay(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
        ...misuse,
        cause: { code: "ECONNREFUSED" },
      });
    });

    test("pay throws a PayerError when the connection breaks before or within the response", async () => {
      const before = createServer((req) => req.socket.destroy());
      await expect(pay(before)).rejects.toMatchObject(misuse);
      const within = createServer((_req, res) => {
        res.writeHead(200, { "content-length": "100" });
        res.write("part", () => res.destroy());
      });
      await expect(pay(within)).rejects.toMatchObject(misuse);
    });

    test("pay throws a PayerError when its signal aborts", async () => {
      const controller = new AbortController();
      const silent = createServer(() => controller.abort());
      await expect(pay(silent, { signal: controller.signal })).rejects.toMatchObject(misuse);
    });

    test("pay throws a PayerError when select chooses an offer that cannot be paid", async () => {
      const select = () => ({ ...OFFER, scheme: "upto" });
      await expect(pay(createShop(), { payer, select })).rejects.toMatchObject(misuse);
    });

    test("a body or a response that is not JSON throws a PayerError", async () => {
      await expect(pay(createShop(), { body: () => 1 })).rejects.toMatchObject(misuse);
      const prose = await pay(createServer((_req, res) => res.end("<html>")));
      expect(() => prose.json()).toThrow(expect.objectContaining(misuse));
    });
  });
});

describe("createPayer", () => {
  test("a payer has the address of its key, by default of a new key", () => {
    expect(createPayer({ privateKey: toHex(1n, { size: 32 }) }).address).toBe(
      "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf",
    );
    expect(createPayer().address).not.toBe(createPayer().address);
  });

  test("a payer pays from its contract wallet", async () => {
    const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
    const payment = await createPayer({ wallet }).signExact(OFFER);
    expect(payment.payload["authorization"]).toMatchObject({ from: wallet });
  });

  test.each(["0x", "0x00", `0x${"00".repeat(32)}`, `0x${"ff".repeat(32)}`, "secret"])(
    "createPayer refuses %s as a key without repeating it",
    (privateKey) => {
      const misuse = expect.objectContaining({ code: "ERR_FAREBOX_PAYER" });
      expect(() => createPayer({ privateKey: privateKey as `0x${string}` })).toThrow(misuse);
      if (privateKey.length < 5) return;
      expect(() => createPayer({ privateKey: privateKey as `0x${string}` })).not.toThrow(privateKey);
    },
  );

  test("signExact refuses an offer that is not exact on eip155", async () => {
    await expect(createPayer().signExact({ ...OFFER, network: "solana:x" })).rejects.toMatchObject({
      code: "ERR_FAREBOX_PAYER",
    });
  });
});
