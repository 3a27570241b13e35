/**
 * A shop whose events and log lines are recorded, and whose clock is the test's.
 *
 * @module
 */
import {
  createPayments,
  type PaymentEvent,
  type PaymentEventType,
  type Payments,
  type RoutesConfig,
} from "@farebox/express";
import type { Express } from "express";
import { openServer, PATIENT, PRICED, type Shop, type ShopPlan, type VERSIONS } from "./shop.js";

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

export interface ObservedShop extends Shop {
  readonly payments: Payments;
  /** All events of requests and payments, in order. */
  readonly events: readonly PaymentEvent[];
  /** The types of these events, each with the field that tells it from others of its type. */
  told(): readonly string[];
  /** The events of facilitators, in order. */
  readonly facilitators: readonly PaymentEvent[];
  /** Every log line. */
  readonly log: readonly unknown[];
  /** Resolves at the next event of a type. */
  next(type: PaymentEventType): Promise<PaymentEvent>;
  /** Runs every timer that is due. */
  passTime(): void;
}

export interface ObservedPlan extends ShopPlan {
  /** Adds routes of its own. */
  readonly also?: (app: Express, payments: Payments) => void;
}

/** Opens a shop for the time of the test. `/paid` and, paid before its handler runs, `/upfront` are priced. */
export async function openObservedShop(
  express: (typeof VERSIONS)[number][1],
  plan: ObservedPlan = {},
): Promise<ObservedShop> {
  const routes: RoutesConfig = plan.routes ?? { "/paid": PRICED, "GET /upfront": { ...PRICED, settle: "before" } };
  const events: PaymentEvent[] = [];
  const facilitators: PaymentEvent[] = [];
  const log: unknown[] = [];
  const timers = new Set<() => void>();
  let opened: Payments | undefined;
  const shop = await openServer(
    express,
    (app, { facilitator }) => {
      const note = (event: string, fields: object) => void log.push({ event, ...fields });
      const payments = createPayments({
        facilitator,
        logger: { info: note, warn: note, error: note },
        timer(act) {
          timers.add(act);
          return () => void timers.delete(act);
        },
        ...plan.options,
        deadlines: { ...PATIENT, ...plan.options?.deadlines },
      });
      opened = payments;
      for (const type of TYPES) {
        const list = type.startsWith("facilitator_") ? facilitators : events;
        payments.on(type, (event) => void list.push(event));
      }
      for (const middleware of plan.before ?? []) app.use(middleware);
      app.use(payments.routes(routes));
      plan.also?.(app, payments);
      const handler = plan.handler ?? ((_req, res) => void res.send("goods"));
      app.all(["/paid", "/upfront"], handler);
    },
    plan.server,
  );
  const payments = opened!;
  return {
    ...shop,
    payments,
    events,
    facilitators,
    told: () => events.map(short),
    log,
    next: (type) =>
      new Promise((resolve) => {
        const off = payments.on(type, (event) => {
          off();
          resolve(event);
        });
      }),
    passTime() {
      // An action may start the next timer.
      for (const act of [...timers]) {
        timers.delete(act);
        act();
      }
    },
  };
}

function short(event: PaymentEvent): string {
  const { type, how, reason, by }: { type: string; how?: string; reason?: string; by?: string } = event;
  return [type, how ?? by ?? reason].filter((part) => part !== undefined).join(" ");
}
