/**
 * Routes that are paid before their handler runs: the money moves first, and the handler answers freely.
 *
 * @see `docs/reference/lifecycle.md`, "Settling before the handler"
 * @module
 */

import { createPrepaid } from "./admission.js";
import type { Decision } from "./decision.js";
import { askHook } from "./hooks.js";
import { factsOf } from "./outcome.js";
import type { PaidRequest } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import { settleOnce, unservedAnswer } from "./settle.js";

/** Settles a payment that was just claimed, and lets its handler run if the money has moved. */
export async function settleFirst(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const { identity, owner } = paid.claim;
  const { store, events } = config;
  const asked = askHook("beforeSettle", paid, config);
  const denied = asked && (await asked);
  if (denied !== undefined) {
    await store.release(identity, owner);
    return { kind: "respond", response: denied };
  }
  const settlement = await settleOnce(
    paid,
    { from: "claimed", owner, facilitator: undefined, answer: undefined, waiting: { client: paid.client } },
    config,
  );
  // Whoever refuses a payment outright has not moved it: what is remembered of it would only be memory for strangers to fill.
  if (settlement.kind === "rejected" && settlement.receipt.transaction === "") await store.release(identity, owner);
  if (settlement.kind !== "settled") return { kind: "respond", response: unservedAnswer(paid, settlement) };
  events.emit("admitted", () => factsOf(paid));
  return { kind: "run", admission: createPrepaid({ ...paid, said: settlement.said }, settlement.receipt, config) };
}
