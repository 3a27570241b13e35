/**
 * The reference's own client pays our seller by `upto`: it signs for the maximum, and the handler says how much is taken.
 */
import { createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { paymentMiddleware, setSettlementOverrides } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { anvilAccounts, type LocalChain } from "@farebox/testing";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import express, { type RequestHandler } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PATIENT } from "../facilitator/stage.js";
import { borrowChain } from "../worker-chain.js";
import { listen, PATIENT_SELLER, type Running } from "./servers.js";

const PURSE = 1_000_000n;

const running: Running[] = [];
let chain: LocalChain;
let facilitatorUrl: string;

beforeAll(async () => {
  chain = await borrowChain();
  const { network, rpcUrl } = chain;
  const rpc = createRpcChain({ network, rpcUrl, privateKey: anvilAccounts[0]!.privateKey, ...PATIENT });
  const facilitator = createFacilitator({ schemes: [createUptoEvmScheme({ chain: rpc })] });
  facilitatorUrl = await start(express().use(facilitatorRouter(facilitator, { open: true })));
});

afterAll(async () => {
  for (const server of running) await server.close();
  await chain.close();
});

async function start(app: express.Express): Promise<string> {
  const server = await listen(app);
  running.push(server);
  return server.url;
}

/** A seller of words at up to ten cents, a payer with a dollar that has allowed Permit2, and the reference's client. */
async function openSale(handler: RequestHandler) {
  const payTo = privateKeyToAccount(generatePrivateKey()).address;
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.fund(account.address, { usdc: PURSE, eth: 10n ** 18n });
  await chain.approvePermit2(account.address);
  const accepts = { scheme: "upto", price: "$0.10", network: chain.network, payTo } as const;
  const app = express();
  app.use(paymentMiddleware({ "GET /words": { accepts } }, { facilitator: facilitatorUrl, ...PATIENT_SELLER }));
  app.get("/words", handler);
  const client = new UptoEvmScheme(account, { rpcUrl: chain.rpcUrl });
  const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "eip155:*", client }] });
  const url = `${await start(app)}/words`;
  const buy = async () => {
    const answer = await pay(url);
    const receipt = answer.headers.get("PAYMENT-RESPONSE") ?? "";
    return { status: answer.status, receipt: JSON.parse(Buffer.from(receipt, "base64").toString("utf8")) };
  };
  const balances = async () => [await chain.balanceOf(payTo), await chain.balanceOf(account.address)];
  return { buy, balances };
}

test("an amount, a part or a price is taken exactly", async () => {
  let amount = "";
  const { buy, balances } = await openSale((_req, res) => {
    setSettlementOverrides(res, { amount: "1" });
    setSettlementOverrides(res, { amount });
    res.json({ words: 5 });
  });
  let total = 0n;
  const cases: readonly (readonly [said: string, taken: bigint])[] = [
    ["2345", 2_345n],
    ["12.34%", 12_340n],
    ["$0.0123456", 12_346n],
    ["100%", 100_000n],
  ];
  for (const [said, taken] of cases) {
    amount = said;
    const { status, receipt } = await buy();
    expect(status, said).toBe(200);
    expect(receipt, said).toMatchObject({
      success: true,
      amount: String(taken),
      transaction: expect.stringMatching(/^0x/),
    });
    total += taken;
    expect(await balances(), said).toEqual([total, PURSE - total]);
  }
});

test("what is charged bit by bit is added up exactly, and rounded once", async () => {
  const { buy, balances } = await openSale((req, res) => {
    for (const _word of Array.from({ length: 1_234 })) req.payment?.charge("$0.0000125");
    res.json({ remaining: req.payment?.remaining });
  });
  expect((await buy()).receipt).toMatchObject({ success: true, amount: "15425" });
  expect(await balances()).toEqual([15_425n, PURSE - 15_425n]);
});

test("a bit that would be too much is refused, and the rest is charged", async () => {
  const { buy, balances } = await openSale((req, res) => {
    let words = 0;
    try {
      for (;;) {
        req.payment?.charge("$0.0003");
        words++;
      }
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_FAREBOX_AMOUNT" });
    }
    res.json({ words });
  });
  expect((await buy()).receipt).toMatchObject({ success: true, amount: "99900" });
  expect(await balances()).toEqual([99_900n, PURSE - 99_900n]);
});

test("nothing said takes the maximum", async () => {
  const { buy, balances } = await openSale((_req, res) => void res.json({}));
  expect((await buy()).receipt).toMatchObject({ success: true, amount: "100000" });
  expect(await balances()).toEqual([100_000n, PURSE - 100_000n]);
});

test("nothing taken sends no transaction", async () => {
  const { buy, balances } = await openSale((req, res) => {
    req.payment?.settle("0");
    res.json({});
  });
  const { status, receipt } = await buy();
  expect([status, receipt]).toMatchObject([200, { success: true, amount: "0", transaction: "" }]);
  expect(await balances()).toEqual([0n, PURSE]);
});

test("an amount that is too much, or none, charges nothing", async () => {
  let amount = "";
  const { buy, balances } = await openSale((_req, res, next) => {
    try {
      setSettlementOverrides(res, { amount });
      res.json({});
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_FAREBOX_AMOUNT" });
      next(Object.assign(new TypeError("expected"), { status: 500, expose: false }));
    }
  });
  for (amount of ["100001", "100.01%", "$0.11", "12.345%", "-1", "1e3", "lots"]) {
    expect((await buy()).status, amount).toBe(500);
  }
  expect(await balances()).toEqual([0n, PURSE]);
});
