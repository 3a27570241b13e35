/**
 * A shop whose events are recorded.
 *
 * @module
 */
import type { PaymentEvent, PaymentEventType } from "../events/events.js";
import type { RoutesConfig } from "../options.js";
import {
  ASSET,
  admissionOf,
  createShop,
  HANDLED,
  NETWORK,
  PAYER,
  ROUTES,
  SETTLED,
  type ShopOptions,
} from "./shop.fixture.js";

export const TYPES = [
  ...[
    "challenged",
    "malformed",
    "mismatched",
    "price_failed",
    "granted",
    "denied",
    "claimed",
    "replayed",
    "verified",
    "invalid",
  ],
  ...["admitted", "cancelled", "settled", "rejected", "unsent", "unknown", "unresolved"],
  ...["facilitator_up", "facilitator_down"],
] as readonly PaymentEventType[];

/** Routes that settle before the handler runs. */
export const SETTLE_BEFORE: RoutesConfig = { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" } };
/** The facts in every event of the first payment. */
export const FACTS = {
  payment: `${NETWORK}|n1`,
  route: "GET /weather",
  payer: PAYER,
  scheme: "exact",
  network: NETWORK,
  asset: ASSET,
  amount: "10000",
};
export const REFUSED = { ...SETTLED, success: false, transaction: "", errorReason: "insufficient_funds" };
/** A settlement response that says the outcome is not known yet. */
export const PENDING = { ...SETTLED, success: false, transaction: "", errorReason: "settlement_pending" };
export const PAID = ["claimed", "verified", "admitted", "settled"];

/** A shop and its events. `emitted` lists each event as its type, followed by its `how`, `by` or `reason`. */
export function createObservedShop(options: ShopOptions = {}) {
  const shop = createShop(options);
  const events: PaymentEvent[] = [];
  for (const type of TYPES) shop.engine.on(type, (event) => void events.push(event));
  const emitted = () => events.filter(({ type }) => !type.startsWith("facilitator_")).map(short);
  return { ...shop, events, emitted };
}

function short(event: PaymentEvent): string {
  const { type, how, reason, by }: { type: string; how?: string; reason?: string; by?: string } = event;
  return [type, how ?? by ?? reason].filter((part) => part !== undefined).join(" ");
}

/** Pays, and completes the handler with a response. */
export const handle = async (shop: ReturnType<typeof createObservedShop>, response = HANDLED) =>
  admissionOf(await shop.pay()).complete(response);
