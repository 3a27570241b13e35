/**
 * A seller checks a payee on Algorand at start, by a stand-in for a node over HTTP.
 */
import { createPayments } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import express from "express";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  FEE_PAYER,
  MAINNET_HASH,
  NETWORK,
  PAY_TO,
  USDC,
  WHOLE_NETWORK,
} from "../../packages/avm/src/payments.fixture.js";
import { facilitatorOf } from "./both-sides.js";
import { RICH } from "./ledger.js";
import { LocalAlgod } from "./local-algod.js";

let local: LocalAlgod;

beforeEach(async () => {
  local = await LocalAlgod.start();
  local.ledger.give(FEE_PAYER.addr, RICH);
});

afterEach(() => local.close());

async function start(options: object = {}) {
  const log: [event: string, fields: object][] = [];
  const note = (event: string, fields: object) => void log.push([event, fields]);
  const payments = createPayments({
    facilitator: createFacilitator({ schemes: [facilitatorOf(local)] }),
    rpc: { [WHOLE_NETWORK]: local.url },
    logger: { info: note, warn: note, error: note },
    ...options,
  });
  const accepts = { network: NETWORK, price: "$0.001", payTo: PAY_TO.toString() } as const;
  const app = express().get("/weather", payments.charge({ accepts }), (_req, res) => void res.json({}));
  try {
    return { findings: (await payments.ready(app)).findings, log };
  } finally {
    payments.close();
  }
}

const COMMAND = `goal asset optin --assetid ${USDC} --account ${PAY_TO}`;

test("ready finds a payee who has not opted in, names the command, and has no finding once it has", async () => {
  const { findings } = await start();
  expect(findings).toMatchObject([{ code: "FAREBOX_PAYEE_UNPAYABLE", remedy: expect.stringContaining(COMMAND) }]);
  await expect(start({ strict: true })).rejects.toThrow(COMMAND);
  local.ledger.give(PAY_TO, 0n, USDC);
  expect((await start({ strict: true })).findings).toEqual([]);
});

test("ready logs a node of another network, or one that demands a token, and has no finding", async () => {
  local.token = "node-token";
  const refused = await start({ strict: true });
  expect([refused.findings, refused.log.map(([event]) => event)]).toEqual([
    [],
    expect.arrayContaining(["payee_not_checked"]),
  ]);
  local.token = undefined;
  local.genesisHash = MAINNET_HASH;
  expect((await start({ strict: true })).findings).toEqual([]);
});

test("ready sends the node its token", async () => {
  local.token = "node-token";
  const rpc = { [NETWORK]: { url: local.url, headers: { "X-Algo-API-Token": "node-token" } } };
  expect((await start({ rpc })).findings).toMatchObject([{ code: "FAREBOX_PAYEE_UNPAYABLE" }]);
});
