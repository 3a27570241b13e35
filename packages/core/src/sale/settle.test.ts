import { describe, expect, test } from "vitest";
import { FacilitatorError } from "../errors.js";
import { createMemoryStore } from "../store/memory-store.js";
import {
  admissionOf,
  createFakeFacilitator,
  createShop,
  HANDLED,
  NETWORK,
  NOW_SECONDS,
  responseOf,
} from "./shop.fixture.js";

const LOST = new Error("lost");
const UNSENT = new FacilitatorError("down", {
  code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  operation: "settle",
  outcome: "none",
});
const VERIFY_FAILS = new FacilitatorError("down", {
  code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  operation: "verify",
  outcome: "none",
});

/** Two facilitators by name, and a store that several processes share. */
function createWorld() {
  const [a, b] = [createFakeFacilitator(), createFakeFacilitator()];
  const store = createMemoryStore(() => NOW_SECONDS * 1000);
  const named = { a: { facilitator: a, name: "a" }, b: { facilitator: b, name: "b" } };
  return {
    a,
    b,
    record: async () => store.find(`${NETWORK}|n1`),
    /** A process with these facilitators. */
    open: (...names: readonly ("a" | "b")[]) => createShop({ store, facilitator: names.map((name) => named[name]) }),
  };
}

describe("the record of a payment", () => {
  test("a record names the facilitator that verified before the settlement starts", async () => {
    const { a, b, open, record } = createWorld();
    a.verifies = VERIFY_FAILS;
    const admission = admissionOf(await open("a", "b").pay());
    expect(await record()).not.toHaveProperty("facilitator");
    const seen: unknown[] = [];
    b.settles = async () => {
      seen.push((await record())?.state, (await record())?.facilitator);
      throw LOST;
    };
    await admission.complete(HANDLED);
    expect(seen).toEqual(["settling", "b"]);
    expect(await record()).toMatchObject({ state: "unknown", facilitator: "b" });
    expect(a.count("settle")).toBe(0);
  });

  test.each<[a: unknown, b: unknown, state: string, facilitator: string | undefined]>([
    [LOST, UNSENT, "unknown", "a"],
    [UNSENT, LOST, "unknown", "b"],
    [UNSENT, UNSENT, "unsent", undefined],
  ])("a record names the facilitator that may have settled, if any (%#)", async (first, second, state, facilitator) => {
    const { a, b, open, record } = createWorld();
    const admission = admissionOf(await open("a", "b").pay());
    Object.assign(a, { settles: first });
    Object.assign(b, { settles: second });
    await admission.complete(HANDLED);
    expect((await record())?.state).toBe(state);
    expect((await record())?.facilitator).toBe(facilitator);
  });
});

describe("a payment of unknown outcome in another process", () => {
  async function createUnknown() {
    const world = createWorld();
    const admission = admissionOf(await world.open("a").pay());
    world.a.settles = LOST;
    await admission.complete(HANDLED);
    return world;
  }

  test("an unknown payment goes back to the facilitator that may have settled it", async () => {
    const { a, b, open, record } = await createUnknown();
    const { pay } = open("b", "a");
    expect(responseOf(await pay())).toMatchObject({ status: 503, json: { error: "settlement_pending" } });
    expect([a.count("settle"), b.count("settle")]).toEqual([2, 0]);
    expect(await record()).toMatchObject({ state: "unknown", facilitator: "a" });
  });

  test("an unknown payment stays unknown, with its facilitator, when the process does not have that facilitator", async () => {
    const { a, b, open, record } = await createUnknown();
    const { pay } = open("b");
    expect(responseOf(await pay())).toMatchObject({ status: 503, json: { error: "settlement_pending" } });
    expect([a.count("settle"), b.count("settle")]).toEqual([1, 0]);
    expect(await record()).toMatchObject({ state: "unknown", facilitator: "a" });
  });
});
