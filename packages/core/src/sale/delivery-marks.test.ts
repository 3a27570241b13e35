/** What a record says of the delivery of its response, and who gets what because of it. */
import { expect, test } from "vitest";
import { createMemoryStore } from "../store/memory-store.js";
import {
  admissionOf,
  createShop,
  createTime,
  HANDLED,
  isPrepaid,
  NETWORK,
  ROUTES,
  readResponse,
  responseOf,
  SETTLED,
  type ShopOptions,
  stageOf,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;
const LARGE = { ...HANDLED, body: undefined };
const BEFORE = { routes: { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" as const } } };
const NOT_KEPT = [409, "answer_not_kept"];
const USED_UP = [402, "payment_already_used"];

type Shop = ReturnType<typeof createShop>;
type Decision = Awaited<ReturnType<Shop["pay"]>>;

function prepaidOf(decision: Decision) {
  if (!isPrepaid(decision)) throw new TypeError(`expected a prepaid run, got ${stageOf(decision)}`);
  return decision.admission;
}

function errorOf(decision: Decision) {
  const { status, json } = responseOf(decision);
  return [status, json["error"]];
}

const recordOf = async ({ store }: Shop) => store.find(IDENTITY);

/** A payment that has settled, and whose handler is owed: its payer has a token. */
async function openOwed(options: ShopOptions = {}) {
  const shop = createShop({ ...BEFORE, ...options });
  const { failureHeaders, cancel } = prepaidOf(await shop.pay());
  await cancel();
  const [[, retryToken] = []] = failureHeaders;
  return { shop, byPayer: () => shop.pay({}, { retryToken: String(retryToken) }) };
}

/** A payment whose outcome is unknown, and whose response was too large to keep: its payer has a token. */
async function openUnknown(options: ShopOptions = {}) {
  const shop = createShop(options);
  const admission = admissionOf(await shop.pay());
  shop.facilitator.settles = new Error("lost");
  const release = await admission.complete(LARGE);
  if (release.kind !== "replace") throw new TypeError("settled");
  const retryToken = readResponse(release.response).headers["payment-retry-token"];
  return { shop, byPayer: () => shop.pay({}, { retryToken: String(retryToken) }) };
}

test("an owed run that went to a request without proof is owed to the payer once more, and then no more", async () => {
  const { shop, byPayer } = await openOwed();
  prepaidOf(await shop.pay()).done();
  expect(await recordOf(shop)).toMatchObject({ state: "settled", mark: "unproven" });
  const again = prepaidOf(await byPayer());
  expect(await recordOf(shop)).not.toHaveProperty("mark");
  again.done();
  expect(errorOf(await byPayer())).toEqual(NOT_KEPT);
  expect(errorOf(await shop.pay())).toEqual(USED_UP);
});

test("an owed run that went to the payer is owed to nobody any more", async () => {
  const { shop, byPayer } = await openOwed();
  prepaidOf(await byPayer()).done();
  expect(await recordOf(shop)).not.toHaveProperty("mark");
  expect(errorOf(await byPayer())).toEqual(NOT_KEPT);
  expect(errorOf(await shop.pay())).toEqual(USED_UP);
});

test("a run that was refunded is owed to nobody, although it went to a request without proof", async () => {
  const { shop, byPayer } = await openOwed({ hooks: { onHandlerFailed: () => ({ refunded: true }) } });
  await prepaidOf(await shop.pay()).fail(500);
  expect(await recordOf(shop)).not.toHaveProperty("mark");
  expect(errorOf(await byPayer())).toEqual(NOT_KEPT);
});

test("a payment that a request without proof has settled is owed to the payer once more, and then no more", async () => {
  const { shop, byPayer } = await openUnknown();
  shop.facilitator.settles = SETTLED;
  const strangers = admissionOf(await shop.pay());
  await strangers.complete(LARGE);
  strangers.done();
  expect(await recordOf(shop)).toMatchObject({ state: "settled", mark: "unproven" });
  const again = admissionOf(await byPayer());
  await again.complete(LARGE);
  again.done();
  expect(await recordOf(shop)).not.toHaveProperty("mark");
  expect(errorOf(await byPayer())).toEqual(NOT_KEPT);
});

test("a payment that the payer settles after a request without proof could not is served once", async () => {
  const { shop, byPayer } = await openUnknown();
  expect(responseOf(await shop.pay()).status).toBe(503);
  expect(await recordOf(shop)).toMatchObject({ state: "unknown", mark: "unproven" });
  shop.facilitator.settles = SETTLED;
  const own = admissionOf(await byPayer());
  await own.complete(LARGE);
  own.done();
  expect(await recordOf(shop)).not.toHaveProperty("mark");
  expect(errorOf(await byPayer())).toEqual(NOT_KEPT);
});

test("a payment that is settled in the background after a request without proof could not is owed one run", async () => {
  const { shop, byPayer } = await openUnknown();
  expect(responseOf(await shop.pay()).status).toBe(503);
  shop.facilitator.settles = SETTLED;
  await shop.passTime(60_000);
  expect(await recordOf(shop)).toMatchObject({ state: "owed" });
  expect(await recordOf(shop)).not.toHaveProperty("mark");
  const own = admissionOf(await byPayer());
  await own.complete(LARGE);
  own.done();
  expect(errorOf(await byPayer())).toEqual(NOT_KEPT);
});

/** A store that has room for one response. */
function withRoomForOne(): ShopOptions {
  const { clock, timer } = createTime();
  const now = () => clock.ms;
  return { now, timer, store: createMemoryStore(now, { maxAnswerBytes: 50 }) };
}

test("a response that went to a request without proof, and that the store has dropped, is made anew for the payer alone", async () => {
  const { shop, byPayer } = await openUnknown(withRoomForOne());
  shop.facilitator.settles = SETTLED;
  const strangers = admissionOf(await shop.pay());
  await strangers.complete(HANDLED);
  strangers.done();
  expect(responseOf(await shop.pay()).text).toBe("sunny");
  const other = admissionOf(await shop.pay({ payload: { nonce: "n2" } }));
  await other.complete(HANDLED);
  await other.undelivered(HANDLED);
  expect(await recordOf(shop)).not.toHaveProperty("answer");
  expect(errorOf(await shop.pay())).toEqual(USED_UP);
  expect(admissionOf(await byPayer())).toBeDefined();
});

test("a response that nobody got, and that the store has dropped, is owed one run", async () => {
  const shop = createShop(withRoomForOne());
  for (const nonce of ["n1", "n2"]) {
    const admission = admissionOf(await shop.pay({ payload: { nonce } }));
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
  }
  expect(await recordOf(shop)).toMatchObject({ state: "settled", mark: "undelivered" });
  expect(await recordOf(shop)).not.toHaveProperty("answer");
  const again = admissionOf(await shop.pay());
  expect((await recordOf(shop))?.mark).toBe("unproven");
  await again.complete(LARGE);
  again.done();
  expect(errorOf(await shop.pay())).toEqual(USED_UP);
});

test("a response that was sent, perhaps in vain, is kept for the payer alone", async () => {
  const { shop, byPayer } = await openOwed();
  await prepaidOf(await byPayer()).keepForPayer(HANDLED);
  expect(await recordOf(shop)).toMatchObject({ state: "settled", mark: "for_payer" });
  expect(errorOf(await shop.pay())).toEqual(USED_UP);
  expect(responseOf(await byPayer()).text).toBe("sunny");
});

test("what a run writes late does not change the mark that came after it", async () => {
  const shop = createShop();
  const admission = admissionOf(await shop.pay());
  await admission.complete(HANDLED);
  await admission.undelivered(HANDLED);
  await admission.keepForPayer({ ...HANDLED, body: Buffer.from("late") });
  expect(await recordOf(shop)).toMatchObject({ mark: "undelivered" });
  expect(responseOf(await shop.pay()).text).toBe("sunny");
});
