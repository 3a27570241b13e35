/**
 * A shop with hooks, and what a hook may do wrong.
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

/** Invalid behaviour of hooks. */
export const INVALID_RESULTS: readonly (readonly [string, () => unknown])[] = [
  [
    "throws",
    () => {
      throw new TypeError("the seller's secret");
    },
  ],
  ["rejects", async () => Promise.reject(new TypeError("the seller's secret"))],
  ["rejects with undefined", () => Promise.reject()],
  ["returns null", () => null],
  ["returns true", () => true],
  ["resolves to false", async () => false],
  ["returns a text", () => "ok"],
  ["returns an empty object", () => ({})],
  ["grants with a text", () => ({ grant: "yes" })],
  ["grants and denies", () => ({ grant: true, deny: "no" })],
  ["denies with an object", () => ({ deny: { because: "the seller's secret" } })],
  ["denies with false", () => ({ deny: false })],
  ["denies with status 200", () => ({ deny: "no", status: 200 })],
  ["denies with status NaN", () => ({ deny: "no", status: Number.NaN })],
  ["denies with a text as status", () => ({ deny: "no", status: "403" })],
  ["denies and sells", () => ({ deny: "no", respond: { contentType: "text/plain", body: "" } })],
  ["denies with a body without a type", () => ({ deny: "no", body: "gone" })],
  [
    "denies with a type that breaks a header",
    () => ({ deny: "no", body: { contentType: "a/b\r\nX-Evil: 1", body: "" } }),
  ],
  ["denies with a body that JSON cannot express", () => ({ deny: "no", body: { contentType: "a/b", body: 10n } })],
  ["says that it is verified by a text", () => ({ verified: "yes" })],
  ["sells nothing", () => ({ respond: {} })],
  ["denies with a fraction as status", () => ({ deny: "no", status: 403.5 })],
  [
    "returns an object whose getter throws",
    () => ({
      get deny() {
        throw new TypeError("the seller's secret");
      },
    }),
  ],
  [
    "returns a proxy that throws",
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
    "rejects with a proxy that throws",
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

/** A shop that records the calls of its notification hooks, and its events. */
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

/** Pays, and completes the handler if it runs. Returns what the client gets. */
export async function buy(shop: ReturnType<typeof createHookedShop>) {
  const decision = await shop.pay();
  if (decision.kind === "respond") return responseOf(decision);
  if (!isHeld(decision)) return stageOf(decision);
  const release = await decision.admission.complete(HANDLED);
  return release.kind === "replace" ? readResponse(release.response) : "served";
}
