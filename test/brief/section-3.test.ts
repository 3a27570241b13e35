/**
 * The brief's section 3, "States and transitions".
 *
 * @module
 */
import { expect, test } from "vitest";
import { declare, paymentFor } from "../catalog/library.js";
import {
  buy,
  closeAllAtEnd,
  declared,
  entriesOf,
  listRoute,
  openFacilitator,
  openSeller,
  outcomeOf,
} from "./marketplace.js";

closeAllAtEnd();

/** Lists only what the server of a URL has confirmed. */
const CHECKING = { owners: { checkOwners: true, unverified: "hide" } } as const;

test("3 The only enumerated state is the cataloging status `bazaar.status`", async () => {
  const { response } = await listRoute(await openFacilitator(), "GET /weather", declared(), "/weather");
  expect(Object.keys(outcomeOf(response))).toEqual(["status"]);
});

test("3 `success`: Discovery info was validated and cataloged", async () => {
  const library = await openFacilitator();
  const { response, url } = await listRoute(library, "GET /weather", declared(), "/weather");
  expect(outcomeOf(response)).toEqual({ status: "success" });
  expect(await entriesOf(library)).toMatchObject([{ resource: `${url}/weather` }]);
});

test("3 `processing`: Discovery info was accepted and is being cataloged asynchronously", async () => {
  const library = await openFacilitator(CHECKING);
  let confirm = () => {};
  const asked = new Promise<void>((resolve) => {
    confirm = resolve;
  });
  const { url } = await openSeller(library.url, { "GET /weather": declared() }, (app, payments) => {
    const document = payments.wellKnown();
    app.get("/.well-known/x402", (req, res, next) => void asked.then(() => document(req, res, next)));
  });
  expect(outcomeOf(await buy(`${url}/weather`))).toEqual({ status: "processing" });
  expect(await entriesOf(library)).toEqual([]);
  confirm();
  await expect.poll(() => entriesOf(library), { timeout: 60_000 }).toMatchObject([{ resource: `${url}/weather` }]);
});

test("3 `rejected`: Discovery info was rejected, for example because it failed schema validation", async () => {
  const library = await openFacilitator();
  const schema = { type: "object", properties: { input: { type: "object", required: ["body"] } } };
  const { outcome } = await library.post("/settle", paymentFor({ bazaar: declare({ schema }) }));
  expect(outcome).toEqual({ bazaar: { status: "rejected", rejectedReason: expect.stringContaining("body") } });
  expect(await entriesOf(library)).toEqual([]);
});

test("3 Transitions: not shown. Here `processing` becomes `success` by a later payment, once the server has confirmed", async () => {
  const library = await openFacilitator(CHECKING);
  const { url, payments } = await openSeller(library.url, { "GET /weather": declared() });
  await buy(`${url}/weather`);
  await expect.poll(() => entriesOf(library), { timeout: 60_000 }).toHaveLength(1);
  expect(outcomeOf(await buy(`${url}/weather`))).toEqual({ status: "success" });
  expect(payments.listing("GET /weather")?.status).toBe("success");
});
