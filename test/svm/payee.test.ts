/**
 * A seller checks a payee on Solana at start, by a node over HTTP.
 */
import { createPayments } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import express from "express";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FEE_PAYER, NETWORK, PAY_TO, PAYER, TOKEN_2022, USDC } from "../../packages/svm/src/payments.fixture.js";
import { type LocalSvm, startLocalSvm } from "./local-svm.js";

let local: LocalSvm;

beforeEach(async () => {
  local = await startLocalSvm(FEE_PAYER.publicKey);
  local.fund(PAYER.publicKey, 5_000n);
});

afterEach(() => local.close());

/** A seller in this process with its facilitator, and the findings and log of `ready`. */
async function start(options: object = {}, payTo = PAY_TO) {
  const chain = createRpcSvmChain({ network: NETWORK, rpcUrl: local.rpcUrl, privateKey: FEE_PAYER.secretKey });
  const log: [event: string, fields: object][] = [];
  const note = (event: string, fields: object) => void log.push([event, fields]);
  const payments = createPayments({
    facilitator: createFacilitator({ schemes: [createExactSvmScheme({ chain })] }),
    rpc: { [NETWORK]: local.rpcUrl },
    logger: { info: note, warn: note, error: note },
    ...options,
  });
  const accepts = { network: NETWORK, price: "$0.001", payTo: payTo.toBase58() } as const;
  const app = express().get("/weather", payments.charge({ accepts }), (_req, res) => void res.json({}));
  try {
    return { findings: (await payments.ready(app)).findings, log };
  } finally {
    payments.close();
  }
}

const COMMAND = `spl-token create-account ${USDC.toBase58()} --owner ${PAY_TO.toBase58()} --fee-payer <keypair file> --url devnet`;

test("ready finds a payee without a token account, names the command, and has no finding once it exists", async () => {
  const { findings, log } = await start();
  expect(findings).toMatchObject([{ code: "FAREBOX_PAYEE_UNPAYABLE", remedy: expect.stringContaining(COMMAND) }]);
  expect(log).toContainEqual(["FAREBOX_PAYEE_UNPAYABLE", expect.objectContaining({ remedy: findings[0]?.remedy })]);
  local.fund(PAY_TO, 0n);
  expect((await start()).findings).toEqual([]);
});

test("ready rejects with strict when a payee has no token account", async () => {
  await expect(start({ strict: true })).rejects.toThrow(COMMAND);
});

test("ready checks no payee without a node", async () => {
  expect((await start({ rpc: {}, strict: true })).findings).toEqual([]);
  expect(local.asked).not.toContain("getMultipleAccounts");
});

test("ready logs a node that cannot be reached without naming it, and has no finding", async () => {
  const { findings, log } = await start({ rpc: { [NETWORK]: "http://127.0.0.1:1/secret-key" }, strict: true });
  expect(findings).toEqual([]);
  expect(log.filter(([event]) => event === "payee_not_checked")).toHaveLength(1);
  expect(JSON.stringify(log)).not.toContain("secret-key");
});

test("ready finds a payee whose account is under the other token program", async () => {
  local.fund(PAY_TO, 0n, PAYER.publicKey, TOKEN_2022);
  expect((await start()).findings).toHaveLength(1);
});

test.each<[memo: unknown, isValid: boolean]>([
  ["order-7", true],
  ["é".repeat(128), true],
  ["é".repeat(129), false],
  ["", false],
  [7, false],
  [null, false],
])("charge checks the memo %j of an offer", (memo, isValid) => {
  const payments = createPayments({ facilitator: "http://127.0.0.1:1" });
  const accepts = { network: NETWORK, price: "$0.001", payTo: PAY_TO.toBase58(), extra: { memo } } as const;
  const charge = () => payments.charge({ accepts });
  if (isValid) expect(charge).not.toThrow();
  else expect(charge).toThrow(/extra\.memo: expected a text of 1 to 256 bytes/);
  payments.close();
});
