import { expect, test } from "vitest";
import { failureOf, REQUEST } from "./http-server.fixture.js";
import { failing, failure, quiet, type ScriptedFacilitator, scripted } from "./pool.fixture.js";
import { createFacilitatorPool } from "./pool.js";

/** A pool whose facilitators keep each settlement until the test ends it. */
function create(facilitators: number) {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const entries = Array.from({ length: facilitators }, (_, at) => ({ name: `f${at}`, facilitator: scripted() }));
  const pool = createFacilitatorPool(entries);
  const { script }: ScriptedFacilitator = entries[0]!.facilitator;
  script.settle = async ({ paymentPayload }) => {
    const name = String(paymentPayload.payload["name"]);
    log.push(`${name} begins`);
    await new Promise<void>((resolve) => void ends.set(name, resolve));
    log.push(`${name} ends`);
    return { success: true, transaction: name, network: REQUEST.paymentRequirements.network };
  };
  /** The name of a settlement stands in its payload. The pool knows payments by their identity. */
  const settle = async (name: string, payment: string) => {
    const paymentPayload = { ...REQUEST.paymentPayload, payload: { name } };
    return (await pool.settle({ ...REQUEST, paymentPayload }, { payment })).transaction;
  };
  return { log, ends, pool, script, settle };
}

test.each([1, 2])(
  "settlements of one payment run one after the other, and others at once: %i facilitators",
  async (n) => {
    const { log, ends, settle } = create(n);
    const turns = [settle("a", "k"), settle("b", "k"), settle("c", "k"), settle("other", "l")];
    await quiet();
    expect(log).toEqual(["a begins", "other begins"]);
    for (const name of ["other", "a", "b", "c"]) {
      ends.get(name)!();
      await quiet();
    }
    expect(await Promise.all(turns)).toEqual(["a", "b", "c", "other"]);
    const ofOnePayment = log.filter((line) => !line.startsWith("other"));
    expect(ofOnePayment).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  },
);

test.each([1, 2])("a failed settlement does not stop the next one: %i facilitators", async (n) => {
  const { pool, script } = create(n);
  const outcomes = [failure("settle", "unknown"), undefined];
  script.settle = () => {
    const error = outcomes.shift();
    return error === undefined ? undefined : Promise.reject(error);
  };
  const first = failureOf(pool.settle(REQUEST, { payment: "k" }));
  const second = pool.settle(REQUEST, { payment: "k" });
  expect(await first).toMatchObject({ outcome: "unknown" });
  await expect(second).resolves.toMatchObject({ success: true });
  await expect(pool.settle(REQUEST, { payment: "k" })).resolves.toMatchObject({ success: true });
});

test("a settlement that cannot be told to anybody does not stop the next one", async () => {
  const { pool, script } = create(1);
  script.settle = failing("settle", "none");
  const gone = failureOf(pool.settle(REQUEST, { payment: "k", facilitator: "gone" }));
  const next = failureOf(pool.settle(REQUEST, { payment: "k" }));
  expect([(await gone).code, (await next).code]).toEqual([
    "ERR_FAREBOX_FACILITATOR_UNAVAILABLE",
    "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  ]);
});
