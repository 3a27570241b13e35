/**
 * The brief's section 6, "Events", with 2.8, "Extension outcome object".
 *
 * @module
 */
import { beforeAll, expect, test } from "vitest";
import { declare, type Library, paymentFor } from "../catalog/library.js";
import {
  buy,
  challengeOf,
  closeAllAtEnd,
  declared,
  OFFER,
  openFacilitator,
  openSeller,
  outcomeOf,
  type Seller,
} from "./marketplace.js";

closeAllAtEnd();

let library: Library;
let seller: Seller;
beforeAll(async () => {
  library = await openFacilitator();
  seller = await openSeller(library.url, { "GET /weather": declared(), "GET /undeclared": { accepts: OFFER } });
});

/** What a facilitator says of a declaration that does not fit its schema. */
const REJECTED = declare({ schema: { type: "object", required: ["output"] } });

test("6 One outcome signal exists: the response header `EXTENSION-RESPONSES`.", async () => {
  const settled = await library.post("/settle", paymentFor());
  expect(settled.header("EXTENSION-RESPONSES")).toEqual(expect.any(String));
  expect((await buy(`${seller.url}/weather`)).headers.get("EXTENSION-RESPONSES")).toEqual(expect.any(String));
});

test("6 Emitted by: a facilitator, optionally, after processing a payment that includes the `bazaar` extension.", async () => {
  const { extensions: _, ...bare } = paymentFor().paymentPayload;
  const without = await library.post("/settle", { ...paymentFor(), paymentPayload: bare });
  expect([without.status, without.outcome]).toEqual([200, undefined]);
  expect((await library.post("/verify", paymentFor())).outcome).toHaveProperty("bazaar");
  expect((await library.post("/settle", paymentFor())).outcome).toHaveProperty("bazaar");
  const undeclared = await buy(`${seller.url}/undeclared`);
  expect([undeclared.status, undeclared.headers.get("EXTENSION-RESPONSES")]).toEqual([200, null]);
  expect((await challengeOf(`${seller.url}/weather`)).status).toBe(402);
});

test("6 Value: a base64-encoded JSON object keyed by extension name. The `bazaar` key holds the outcome object.", async () => {
  const header = (await buy(`${seller.url}/weather`)).headers.get("EXTENSION-RESPONSES") ?? "";
  expect(Buffer.from(header, "base64").toString("base64")).toBe(header);
  expect(JSON.parse(Buffer.from(header, "base64").toString())).toEqual({ bazaar: { status: "success" } });
});

test("6 `bazaar.status`: string, required. `success`, `processing` or `rejected`", async () => {
  const outcomes = [
    await library.post("/verify", paymentFor()),
    await library.post("/settle", paymentFor()),
    await library.post("/settle", paymentFor({ bazaar: REJECTED })),
  ].map(({ outcome }) => (outcome as { bazaar: { status: string } }).bazaar.status);
  expect(outcomes).toEqual(["processing", "success", "rejected"]);
});

test("6 `bazaar.rejectedReason`: string, not required. Human-readable reason; present only when status is `rejected`", async () => {
  const { outcome } = await library.post("/settle", paymentFor({ bazaar: REJECTED }));
  expect(outcome).toEqual({ bazaar: { status: "rejected", rejectedReason: expect.stringMatching(/\w+ \w+/) } });
  expect((await library.post("/settle", paymentFor())).outcome).toEqual({ bazaar: { status: "success" } });
});

test("6 Clients that understand the extension should read the `bazaar` key to confirm cataloging and surface any rejection reason.", async () => {
  expect(outcomeOf(await buy(`${seller.url}/weather`))).toEqual({ status: "success" });
  expect(seller.payments.listing("GET /weather")).toMatchObject({ status: "success" });
  // A catalog of public servers does not take one of this machine. The seller is told so, and so is the buyer.
  const strict = await openFacilitator({ allowLocal: false });
  const local = await openSeller(strict.url, { "GET /weather": declared() });
  const outcome = outcomeOf(await buy(`${local.url}/weather`));
  expect(outcome).toEqual({ status: "rejected", rejectedReason: expect.stringMatching(/https/) });
  expect(local.payments.listing("GET /weather")).toMatchObject(outcome);
});

test("6 Other event kinds and their delivery: not shown. Here the seller's own process tells them", async () => {
  const told: unknown[] = [];
  const off = seller.payments.on("extension_outcome", ({ route, status }) => void told.push([route, status]));
  await buy(`${seller.url}/weather`);
  off();
  expect(told).toEqual([
    ["GET /weather", "processing"],
    ["GET /weather", "success"],
  ]);
});
