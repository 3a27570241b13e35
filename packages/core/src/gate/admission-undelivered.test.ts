import { expect, test } from "vitest";
import { admissionOf, answerOf, createShop, HANDLED, NETWORK, SETTLED, stageOf } from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;

/** Too large to keep. */
const LARGE = { ...HANDLED, body: undefined };

const LOST = new Error("lost");

test.each([
  ["an answer too large to keep", LARGE, "owed"],
  ["an answer that can be kept", HANDLED, "settled"],
] as const)("%s that is paid for, and of which nothing went out, leaves the payment %s", async (_, answer, state) => {
  const { pay, store, till } = createShop();
  const admission = admissionOf(await pay());
  await admission.complete(answer);
  await admission.unreleased(answer);
  expect(await store.find(IDENTITY)).toMatchObject({ state });

  const again = await pay();
  expect(stageOf(again)).toBe(state === "owed" ? "held" : "respond");
  if (again.kind === "respond") expect(answerOf(again).text).toBe("sunny");
  expect(answerOf(await pay()).json["error"]).toBe("payment_already_used");
  expect(till.count("settle")).toBe(1);
});

test("an answer too large to keep that broke off half-way is owed to nobody", async () => {
  const { pay } = createShop();
  const admission = admissionOf(await pay());
  await admission.complete(LARGE);
  await admission.undelivered(LARGE);
  expect(answerOf(await pay()).json["error"]).toBe("payment_already_used");
});

test("a run that is owed stays owed when the client leaves before its answer", async () => {
  const { pay, till, store } = createShop();
  till.settles = LOST;
  await admissionOf(await pay()).complete(LARGE);
  till.settles = SETTLED;
  const second = admissionOf(await pay());
  await second.cancel();
  expect(second.payment.signal.aborted).toBe(true);
  expect(await store.find(IDENTITY)).toMatchObject({ state: "owed" });

  const third = admissionOf(await pay());
  expect(await third.complete(LARGE)).toMatchObject({ kind: "release", paid: true });
  expect(answerOf(await pay()).json["error"]).toBe("payment_already_used");
});
