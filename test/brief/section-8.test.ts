/**
 * The brief's section 8, "Limits", and the limits that it leaves to the facilitator.
 *
 * @module
 */
import { createPayments } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { createPayer, createTestFacilitator } from "@farebox/testing";
import express from "express";
import { expect, test } from "vitest";
import { paymentFor, yesScheme } from "../catalog/library.js";
import { PATIENT_SELLER } from "../interop/servers.js";
import {
  challengeOf,
  closeAllAtEnd,
  type Json,
  OFFER,
  offerIn,
  openFacilitator,
  openSeller,
  override,
  start,
} from "./marketplace.js";

closeAllAtEnd();

const library = await openFacilitator();

const REFUSED = { status: 500, charged: 0n, code: "ERR_FAREBOX_AMOUNT" };

test("8 Settlement override percentage precision: two decimal places", async () => {
  expect([await override("0.01%"), await override("99.99%")]).toMatchObject([{ charged: 10n }, { charged: 99_990n }]);
  expect(await override("99.999%")).toEqual(REFUSED);
});

test("8 Settlement override maximum: the authorized maximum of the payment", async () => {
  const all = { status: 200, charged: 100_000n, code: undefined };
  expect([await override("100%"), await override("100000")]).toEqual([all, all]);
  expect(await override("100001")).toEqual(REFUSED);
});

test("8 Asset decimals (stablecoin): 6 (for example a dollar price of 0.10 equals 100000 atomic units)", async () => {
  const { url } = await openSeller(library.url, { "GET /words": { accepts: { ...OFFER, price: "$0.10" } } });
  expect(offerIn((await challengeOf(`${url}/words`)).header)).toMatchObject({
    maxAmountRequired: "100000",
    amount: "100000",
  });
});

test("8 `maxTimeoutSeconds`: a field of each payment requirement; bounds not given. Here 10 seconds to a day", async () => {
  const accepts = [OFFER, { ...OFFER, payTo: createPayer().address, maxTimeoutSeconds: 60 }];
  const { url } = await openSeller(library.url, { "GET /weather": { accepts } });
  const { header } = await challengeOf(`${url}/weather`);
  expect((header["accepts"] as Json[]).map(({ maxTimeoutSeconds }) => maxTimeoutSeconds)).toEqual([300, 60]);
  const wrong = createPayments({ ...PATIENT_SELLER, facilitator: createTestFacilitator() });
  const read = (maxTimeoutSeconds: number) => () =>
    wrong.routes({ "GET /weather": { accepts: { ...OFFER, maxTimeoutSeconds } } });
  for (const seconds of [9, 86_401, 60.5]) expect(read(seconds), `${seconds}`).toThrow(/maxTimeoutSeconds/);
});

test("8 Rate limits: not shown. Here the policy of a facilitator has one for its calls", async () => {
  const facilitator = createFacilitator({ schemes: [yesScheme()], policy: { requestsPerMinute: 1 } });
  const url = await start(express().use(facilitatorRouter(facilitator, { open: true })));
  const verify = async () => {
    const headers = { "content-type": "application/json" };
    return (await fetch(`${url}/verify`, { method: "POST", headers, body: JSON.stringify(paymentFor()) })).status;
  };
  expect([await verify(), await verify()]).toEqual([200, 429]);
});

test("8 Default and maximum `limit`, and `offset` bounds: not shown. Here 20 and 100, and an offset from 0 on", async () => {
  const list = async (query: string) => library.get(`/discovery/resources${query}`);
  expect((await list("")).json["pagination"]).toMatchObject({ limit: 20, offset: 0 });
  for (const [query, status] of [
    ["?limit=100", 200],
    ["?limit=101", 400],
    ["?limit=0", 400],
    ["?offset=0", 200],
    ["?offset=-1", 400],
  ] as const) {
    expect((await list(query)).status, query).toBe(status);
  }
});
