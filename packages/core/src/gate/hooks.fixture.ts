/**
 * A shop with hooks that behave, or do not.
 *
 * @module
 */
import type { AskingHook, PaymentHooks } from "../events/hooks.js";
import {
  createShop,
  HANDLED,
  isHeld,
  NETWORK,
  PAYER,
  ROUTES,
  readResponse,
  responseOf,
  stageOf,
} from "./shop.fixture.js";

export const IDENTITY = `${NETWORK}|n1`;
export const FACTS = { payment: IDENTITY, route: "GET /weather", payer: PAYER, scheme: "exact", network: NETWORK };
export const SETTLE_BEFORE = { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" as const } };

export type Hook = "onRequest" | AskingHook;

/** What a hook may do that is no answer. */
export const INVALID_RESULTS: readonly (readonly [string, () => unknown])[] = [
  [
    "throws",
    () => {
      throw new TypeError("the seller's secret");
    },
  ],
  ["rejects", async () => Promise.reject(new TypeError("the seller's secret"))],
  ["throws nothing", () => Promise.reject()],
  ["answers null", () => null],
  ["answers true", () => true],
  ["answers false", async () => false],
  ["answers a text", () => "ok"],
  ["answers an empty object", () => ({})],
  ["answers a grant that is none", () => ({ grant: "yes" })],
  ["grants and denies", () => ({ grant: true, deny: "no" })],
  ["denies with an object", () => ({ deny: { because: "the seller's secret" } })],
  ["denies with false", () => ({ deny: false })],
  ["denies with a status that lets everybody in", () => ({ deny: "no", status: 200 })],
  ["denies with a status that is no number", () => ({ deny: "no", status: Number.NaN })],
  ["denies with a status that is a text", () => ({ deny: "no", status: "403" })],
  ["denies with a challenge's status", () => ({ deny: "no", status: 402 })],
  ["denies with half a status", () => ({ deny: "no", status: 403.5 })],
  [
    "answers what cannot be read",
    () => ({
      get deny() {
        throw new TypeError("the seller's secret");
      },
    }),
  ],
  [
    "answers a proxy that throws",
    () =>
      new Proxy(
        {},
        {
          get() {
            throw new TypeError("the seller's secret");
          },
        },
      ),
  ],
  [
    "throws what cannot be looked at",
    () =>
      Promise.reject(
        new Proxy(new Error(), {
          get() {
            throw new TypeError("hostile");
          },
          getPrototypeOf() {
            throw new TypeError("hostile");
          },
        }),
      ),
  ],
];

/** A shop whose hooks are noted as they are asked and told. */
export function createHookedShop(hooks: Record<string, (...args: never[]) => unknown>, routes = ROUTES) {
  const notified: unknown[] = [];
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void notified.push([name, ...args]);
  const noted = Object.fromEntries(["afterSettle", "onSettleUnknown", "onCancel"].map((name) => [name, note(name)]));
  const shop = createShop({ routes, hooks: { ...noted, ...hooks } as PaymentHooks });
  const events: string[] = [];
  for (const type of ["claimed", "verified", "admitted", "settled", "cancelled", "denied", "granted"] as const) {
    shop.engine.on(type, (event) => void events.push("by" in event ? `denied by ${event.by}` : event.type));
  }
  return { ...shop, notified, events };
}

/** Pays, and lets the handler answer if it may. Yields what the client gets. */
export async function buy(shop: ReturnType<typeof createHookedShop>) {
  const decision = await shop.pay();
  if (decision.kind === "respond") return responseOf(decision);
  if (!isHeld(decision)) return stageOf(decision);
  const release = await decision.admission.complete(HANDLED);
  return release.kind === "replace" ? readResponse(release.response) : "served";
}
