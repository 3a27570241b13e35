/**
 * Plays a sequence: clients that send their payment again until they have its response, while processes die.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { PaymentPayload } from "@farebox/core";
import { createPayer, type PayResult, pay } from "@farebox/testing";
import type { PaymentPlan, Sequence } from "./plan.js";
import type { Fault, Moved, Run, Seller, Shop, Span } from "./shop.js";

/** A response, or a connection that broke. */
export interface Reply {
  readonly seller: Seller;
  readonly sentMs: number;
  /** When all of it had arrived. */
  readonly atMs: number;
  /** `undefined`: it broke. */
  readonly result: PayResult | undefined;
  /** Of the client that comes back. */
  readonly isMain: boolean;
}

/** One payment, and what happened to it. */
export interface Played {
  readonly plan: PaymentPlan;
  /** The payer, in lower case. */
  readonly key: string;
  readonly replies: Reply[];
  /** Whether a settlement was left for good while a late client was away. */
  wasLeft: boolean;
  runs: readonly Run[];
  transfers: readonly Moved[];
  settleCallsMs: readonly number[];
}

/** A sequence that was played. */
export interface PlayedSequence {
  readonly payments: readonly Played[];
  readonly faults: readonly Fault[];
  readonly outages: readonly Span[];
  /** How late a timer of this process was at most between two times, in milliseconds. */
  lateness(fromMs: number, toMs: number): number;
}

/** No client comes back for longer than that: only a payment that never ends takes so long. */
const PATIENCE_MS = 200_000;

/** Longer than it takes to notice a death, and to settle. */
const LATE_MS = 14_000;

const POLL_MS = 500;

/** Responses after which the same request is to be sent again. */
const PASSING: readonly string[] = [
  "payment_in_progress",
  "settlement_pending",
  "too_many_payments",
  "too_many_copies",
  "unexpected_verify_error",
  "unexpected_settle_error",
];

export async function play(shop: Shop, sequence: Sequence): Promise<PlayedSequence> {
  const watch = watchTimers();
  try {
    return { ...(await playWatched(shop, sequence)), lateness: watch.lateness };
  } finally {
    watch.stop();
  }
}

const TICK_MS = 100;

/** Sees how late this process is: other processes of the machine are as late. */
function watchTimers(): { readonly lateness: PlayedSequence["lateness"]; stop(): void } {
  const ticks: { readonly atMs: number; readonly lateMs: number }[] = [];
  let lastMs = Date.now();
  const timer = setInterval(() => {
    const atMs = Date.now();
    ticks.push({ atMs, lateMs: Math.max(atMs - lastMs - TICK_MS, 0) });
    lastMs = atMs;
  }, TICK_MS);
  return {
    lateness: (fromMs, toMs) =>
      Math.max(0, ...ticks.filter(({ atMs }) => atMs > fromMs && atMs < toMs).map(({ lateMs }) => lateMs)),
    stop: () => clearInterval(timer),
  };
}

async function playWatched(shop: Shop, sequence: Sequence): Promise<Omit<PlayedSequence, "lateness">> {
  const { bank } = shop;
  const payers = sequence.payments.map(() => createPayer());
  await Promise.all(payers.map(({ address }) => bank.fund(address)));
  const keys = payers.map(({ address }) => address.toLowerCase());
  const signed = await Promise.all(
    sequence.payments.map(async (plan, at): Promise<PaymentPayload> => {
      const { challenge } = await pay(shop.seller(0).url, { path: pathOf(plan) });
      const [offer] = challenge?.accepts ?? [];
      const payer = payers[at];
      if (challenge === undefined || offer === undefined || payer === undefined) throw new TypeError("it is free");
      const payment = await payer.signExact(offer, { challenge });
      if (plan.proof !== "id") return payment;
      const withId = { "payment-identifier": { info: { required: false, id: randomUUID() } } };
      return { ...payment, extensions: { ...payment.extensions, ...withId } } as PaymentPayload;
    }),
  );
  const faults = sequence.faults.map((plan, id): Fault => {
    const key = plan.point.endsWith("unfinished") ? undefined : keys[plan.payment % keys.length];
    return { id, plan, key, happened: undefined };
  });
  await shop.arm(faults);
  const payments = await Promise.all(
    sequence.payments.map((plan, at) =>
      attend(shop, { plan, key: keys[at] ?? "", payment: signed[at] as PaymentPayload }),
    ),
  );
  await shop.arm([]);
  await shop.mended();
  for (const played of payments) {
    played.runs = shop.runs.filter(({ key }) => key === played.key);
    played.transfers = await bank.transfersOf(played.key);
    played.settleCallsMs = await bank.callsOf(played.key);
  }
  return { payments, faults, outages: [...shop.outages] };
}

interface Sent {
  readonly plan: PaymentPlan;
  readonly key: string;
  readonly payment: PaymentPayload;
}

/** Sends a payment and its duplicates until the client has a response that is final. */
async function attend(shop: Shop, sent: Sent): Promise<Played> {
  const { plan, key } = sent;
  const played: Played = { plan, key, replies: [], wasLeft: false, runs: [], transfers: [], settleCallsMs: [] };
  const duplicates = plan.duplicates.map(async ({ seller, delayMs }) => {
    await delay(delayMs);
    played.replies.push(await send(shop, sent, { at: seller, token: undefined, isMain: false }));
  });
  await comeBack(shop, sent, played);
  await Promise.all(duplicates);
  return played;
}

async function comeBack(shop: Shop, sent: Sent, played: Played): Promise<void> {
  const { plan } = sent;
  const untilMs = Date.now() + PATIENCE_MS;
  let token: string | undefined;
  let isLate = plan.isLate;
  for (let at = plan.first; Date.now() < untilMs; at = at === 0 ? 1 : 0) {
    const reply = await send(shop, sent, { at, token, isMain: true });
    played.replies.push(reply);
    const { result } = reply;
    if (result !== undefined && !isPassing(result)) return;
    const given = result?.headers["payment-retry-token"];
    if (plan.proof === "token" && typeof given === "string") token = given;
    if (isLate) {
      isLate = false;
      const fromMs = Date.now();
      await delay(LATE_MS);
      // A busy machine takes longer to notice a death.
      do {
        played.wasLeft = await isLeft(shop, sent, fromMs);
        if (played.wasLeft) await delay(POLL_MS);
      } while (played.wasLeft && Date.now() < untilMs);
    } else {
      const seconds = Number(result?.headers["retry-after"] ?? 0.05);
      await delay(Math.min(seconds, 3) * 1_000);
    }
  }
}

/** Whether a settlement is left, though the store was there all the time, and no process died or stopped that might have taken it over. */
async function isLeft(shop: Shop, { key }: Sent, fromMs: number): Promise<boolean> {
  const records = await shop.unfinished().catch(() => []);
  const wasOut = shop.outages.some(({ toMs }) => toMs > fromMs);
  const wasDisturbed = shop.started.some(
    ({ killedMs = 0, stops }) => killedMs > fromMs || stops.some(({ toMs }) => toMs > fromMs),
  );
  return (
    !wasOut &&
    !wasDisturbed &&
    records.some(({ identity, state }) => state === "settling" && identity.toLowerCase().includes(key))
  );
}

function isPassing({ status, text }: PayResult): boolean {
  if (status === 200 || status === 402) return false;
  const { error = "" } = parse(text);
  return PASSING.includes(error);
}

/** The error of a response of ours, and the run of a handler's. */
export function parse(text: string): { readonly error?: string; readonly run?: number } {
  try {
    return JSON.parse(text) as { readonly error?: string; readonly run?: number };
  } catch {
    return {};
  }
}

interface Way {
  readonly at: 0 | 1;
  readonly token: string | undefined;
  readonly isMain: boolean;
}

async function send(shop: Shop, { plan, key, payment }: Sent, { at, token, isMain }: Way): Promise<Reply> {
  const seller = shop.seller(at);
  const sentMs = Date.now();
  const headers = { "x-key": key, ...(token === undefined ? {} : { "payment-retry-token": token }) };
  const signal = AbortSignal.timeout(40_000);
  const result = await pay(seller.url, { path: pathOf(plan), payment, headers, signal }).catch(() => undefined);
  // The port of a dead process may be another server's by now.
  const isOurs = result?.headers["x-seller"] === seller.payTo;
  return { seller, sentMs, atMs: Date.now(), result: isOurs ? result : undefined, isMain };
}

function pathOf({ route, workMs }: PaymentPlan): string {
  return `/${route}?work=${workMs}`;
}

export function hasOutage(outages: readonly Span[], fromMs: number, toMs: number): boolean {
  return outages.some((span) => span.fromMs < toMs && span.toMs > fromMs);
}
