/**
 * The two spellings of an Algorand network. Seller, facilitator and client may use either. Each of them is told the spelling
 * that it knows, and a payment is one payment in both.
 */
import { createFacilitator } from "@farebox/facilitator";
import express, { type Express } from "express";
import { describe, expect, test } from "vitest";
import {
  FEE_PAYER,
  PAY_TO,
  PAYER,
  payload,
  requirements,
  NETWORK as SHORT,
  USDC,
  WHOLE_NETWORK as WHOLE,
} from "../../packages/avm/src/payments.fixture.js";
import { decode } from "../interop/servers.js";
import { facilitatorOf, toRequest } from "./both-sides.js";
import { nodePerTest } from "./node-per-test.js";
import { ourFacilitator, ourSeller, referenceClient, referenceFacilitator } from "./peers.js";

type Spelling = typeof SHORT | typeof WHOLE;

const SPELLINGS: readonly Spelling[] = [SHORT, WHOLE];
const FACILITATORS = { ours: ourFacilitator, "the reference's": referenceFacilitator };
const NAMES: Readonly<Record<Spelling, string>> = { [SHORT]: "short", [WHOLE]: "whole" };

const node = nodePerTest();

/** A facilitator that records the spelling of each request, in both places. */
async function startFacilitator(facilitator: Express): Promise<{ readonly url: string; readonly told: Set<unknown> }> {
  const told = new Set<unknown>();
  const app = express().use(express.json(), (req, _res, next) => {
    if (req.method === "POST") {
      told.add(req.body.paymentRequirements.network).add(req.body.paymentPayload.accepted.network);
    }
    next();
  });
  return { url: await node.listen(app.use(facilitator)), told };
}

const option = (network: string, more: object = {}) =>
  ({ scheme: "exact", price: "$0.001", network, payTo: PAY_TO.toString(), ...more }) as Parameters<typeof ourSeller>[2];

/** A client that writes its `accepted` in a spelling, and records its requests. */
function respelling(network: Spelling) {
  const sent: string[] = [];
  const send: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    const header = request.headers.get("PAYMENT-SIGNATURE");
    if (header !== null) {
      const respelled = respell(header, network);
      sent.push(respelled);
      request.headers.set("PAYMENT-SIGNATURE", respelled);
    }
    return fetch(request);
  };
  return { send, sent };
}

function respell(header: string, network: Spelling): string {
  const payment = decode(header) as { accepted: object };
  return Buffer.from(JSON.stringify({ ...payment, accepted: { ...payment.accepted, network } })).toString("base64");
}

const CASES = Object.entries(FACILITATORS).flatMap(([whose, facilitator]) =>
  SPELLINGS.flatMap((facilitators) =>
    SPELLINGS.map((sellers) => ({
      title: `seller ${NAMES[sellers]}, facilitator (${whose}) ${NAMES[facilitators]}`,
      ...{ facilitator, sellers, facilitators },
    })),
  ),
);

test.each(CASES)("a payment is made once, by a client with either spelling: $title", async (spelt) => {
  const { facilitator, sellers, facilitators } = spelt;
  const { url, told } = await startFacilitator(facilitator(node.local, facilitators));
  const app = await ourSeller(url, {}, option(sellers));
  const weather = `${await node.listen(app)}/weather`;

  const challenge = decode((await fetch(weather)).headers.get("PAYMENT-REQUIRED")) as { accepts: object[] };
  expect(challenge.accepts).toMatchObject([{ network: facilitators }]);

  for (const [at, clients] of SPELLINGS.entries()) {
    const { send, sent } = respelling(clients);
    const served = await referenceClient(PAYER, node.local, send)(weather);
    expect([served.status, await served.json()]).toEqual([200, { weather: "sunny" }]);
    const receipt = decode(served.headers.get("PAYMENT-RESPONSE"));
    expect(receipt).toMatchObject({ success: true, network: facilitators, payer: PAYER.addr.toString() });
    expect(told).toEqual(new Set([facilitators]));

    const [header = ""] = sent;
    for (const network of SPELLINGS) {
      const again = await fetch(weather, { headers: { "PAYMENT-SIGNATURE": respell(header, network) } });
      expect([again.status, await again.json()]).toMatchObject([402, { error: "payment_already_used" }]);
    }
    const paid = 1000n * BigInt(at + 1);
    expect([app.locals["served"], node.local.ledger.balanceOf(PAY_TO, USDC)]).toEqual([at + 1, paid]);
  }
});

describe("a payment in two spellings at once", () => {
  test("a payment in two spellings at once is served once, and moves the money once", async () => {
    const { url } = await startFacilitator(ourFacilitator(node.local));
    const app = await ourSeller(url, {}, option(WHOLE));
    const weather = `${await node.listen(app)}/weather`;
    const paid = { x402Version: 2, accepted: requirements(), payload: payload() };
    const header = Buffer.from(JSON.stringify(paid)).toString("base64");
    const responses = await Promise.all(
      [...SPELLINGS, ...SPELLINGS].map((network) =>
        fetch(weather, { headers: { "PAYMENT-SIGNATURE": respell(header, network) } }),
      ),
    );
    expect(responses.map(({ status }) => status)).toContain(200);
    expect([app.locals["served"], node.local.ledger.balanceOf(PAY_TO, USDC)]).toEqual([1, 1000n]);
  });

  test("a payment in two spellings at once is settled once by our facilitator", async () => {
    const facilitator = createFacilitator({ schemes: [facilitatorOf(node.local)] });
    const paid = payload();
    const said = await Promise.all(
      SPELLINGS.map((network) => facilitator.settle(toRequest(paid, requirements({ network })))),
    );
    expect(said.filter(({ success }) => success)).toHaveLength(1);
    expect(node.local.ledger.balanceOf(PAY_TO, USDC)).toBe(1000n);
  });
});

describe("every option that names a network takes either spelling", () => {
  test.each<[what: string, options: (facilitator: string) => object]>([
    ["payTo", () => ({ payTo: { [WHOLE]: PAY_TO.toString(), "algorand:*": FEE_PAYER.addr.toString() } })],
    ["a facilitator's networks", (url) => ({ facilitator: [{ url, networks: [WHOLE] }] })],
    ["rpc", () => ({ rpc: { [WHOLE]: node.local.url } })],
  ])("an option takes either spelling: %s", async (_, options) => {
    const { url } = await startFacilitator(ourFacilitator(node.local));
    const { payTo: _payTo, ...offer } = option(SHORT) as { payTo: string };
    const accepts = option(SHORT, "payTo" in options(url) ? { ...offer, payTo: undefined } : {});
    const app = await ourSeller(url, options(url), accepts);
    const served = await referenceClient(PAYER, node.local)(`${await node.listen(app)}/weather`);
    expect([served.status, node.local.ledger.balanceOf(PAY_TO, USDC)]).toEqual([200, 1000n]);
  });

  test("a dynamic price is valid in the other spelling", async () => {
    const { url } = await startFacilitator(ourFacilitator(node.local, WHOLE));
    const app = await ourSeller(url, {}, option(SHORT, { price: () => "$0.002" }));
    for (const [network, paid] of [[SHORT, 2000n] as const, [WHOLE, 4000n] as const]) {
      const { send } = respelling(network);
      expect((await referenceClient(PAYER, node.local, send)(`${await node.listen(app)}/weather`)).status).toBe(200);
      expect(node.local.ledger.balanceOf(PAY_TO, USDC)).toBe(paid);
    }
  });

  test("two recipients for one network are refused, and two schemes of a facilitator", async () => {
    const payTo = { [SHORT]: PAY_TO.toString(), [WHOLE]: FEE_PAYER.addr.toString() };
    await expect(ourSeller("http://localhost", { payTo }, option(SHORT))).rejects.toThrow("one entry per network");
    const schemes = SPELLINGS.map((network) => facilitatorOf(node.local, { network }));
    expect(() => createFacilitator({ schemes })).toThrow("one scheme per name and network");
  });
});

test("a seller asks a node that is configured in the other spelling", async () => {
  node.local.mode = "keep";
  const { url } = await startFacilitator(ourFacilitator(node.local, WHOLE));
  const app = await ourSeller(url, { rpc: { [SHORT]: node.local.url } }, option(SHORT));
  const paid = { x402Version: 2, accepted: requirements(), payload: payload() };
  const header = Buffer.from(JSON.stringify(paid)).toString("base64");
  const weather = `${await node.listen(app)}/weather`;
  const send = (network: Spelling) => fetch(weather, { headers: { "PAYMENT-SIGNATURE": respell(header, network) } });
  expect((await send(SHORT)).status).toBe(503);
  node.local.land();
  node.local.ledger.round += 500;
  expect((await send(WHOLE)).status).toBe(200);
  expect([app.locals["served"], node.local.ledger.balanceOf(PAY_TO, USDC)]).toEqual([1, 1000n]);
});
