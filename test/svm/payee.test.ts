/**
 * What a seller's start-up finds out about a payee on Solana, asked of a real node's answers over HTTP.
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

/** A seller in this process with its facilitator, and what `ready` has found and told. */
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

test("a payee without a token account is a finding that has the command, until there is one", async () => {
  const { findings, log } = await start();
  expect(findings).toMatchObject([{ code: "FAREBOX_PAYEE_UNPAYABLE", remedy: expect.stringContaining(COMMAND) }]);
  expect(log).toContainEqual(["FAREBOX_PAYEE_UNPAYABLE", expect.objectContaining({ remedy: findings[0]?.remedy })]);
  local.fund(PAY_TO, 0n);
  expect((await start()).findings).toEqual([]);
});

test("with strict it keeps the seller from starting", async () => {
  await expect(start({ strict: true })).rejects.toThrow(COMMAND);
});

test("without a node nobody is asked, and nothing is found", async () => {
  expect((await start({ rpc: {}, strict: true })).findings).toEqual([]);
  expect(local.asked).not.toContain("getMultipleAccounts");
});

test("a node that is gone is a note, which names it nowhere, and no obstacle", async () => {
  const { findings, log } = await start({ rpc: { [NETWORK]: "http://127.0.0.1:1/secret-key" }, strict: true });
  expect(findings).toEqual([]);
  expect(log.filter(([event]) => event === "payee_not_checked")).toHaveLength(1);
  expect(JSON.stringify(log)).not.toContain("secret-key");
});

test("an account under the other token program is not the one that is paid", async () => {
  local.fund(PAY_TO, 0n, PAYER.publicKey, TOKEN_2022);
  expect((await start()).findings).toHaveLength(1);
});

test.each<[memo: unknown, isGood: boolean]>([
  ["order-7", true],
  ["é".repeat(128), true],
  ["é".repeat(129), false],
  ["", false],
  [7, false],
  [null, false],
])("an offer's memo is checked at start: %j", (memo, isGood) => {
  const payments = createPayments({ facilitator: "http://127.0.0.1:1" });
  const accepts = { network: NETWORK, price: "$0.001", payTo: PAY_TO.toBase58(), extra: { memo } } as const;
  const charge = () => payments.charge({ accepts });
  if (isGood) expect(charge).not.toThrow();
  else expect(charge).toThrow(/extra\.memo: expected a text of 1 to 256 bytes/);
  payments.close();
});
