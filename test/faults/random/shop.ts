/**
 * A shop for one sequence: one seller in one process or two, the payments that were signed for it, and what is known of them.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { LedgerEntry, PaymentPayload, PaymentRecord, PaymentRequired } from "@farebox/core";
import { type FacilitatorServer, pay } from "@farebox/testing";
import { type Exchange, send } from "./client.js";
import { createHandler } from "./handler.js";
import { createNotes, type Notes, type Order, type Payment, type Request, readReceipt, type Variant } from "./notes.js";
import { type AnyChange, CONDITIONS, type SellerPlan, type SendStep } from "./plan.js";
import { type Seller, startSeller } from "./seller.js";
import { createSharedStore, type SharedStore } from "./shared-store.js";
import type { Stage } from "./stage.js";
import { takeSteps, takeStepsUntil } from "./time.js";

/** Records are kept until their payment has expired, and ten minutes longer. */
const KEPT_MS = 600_000;

/** What is to be sent. */
export interface Wish {
  readonly payment: Payment;
  /** How it differs from the payment's first request; or exactly what is sent. */
  readonly change: AnyChange | Variant;
  readonly order: Order;
  readonly seller: 0 | 1;
}

export interface Shop {
  readonly stage: Stage;
  readonly plan: SellerPlan;
  readonly notes: Notes;
  readonly servers: readonly FacilitatorServer[];
  takePayment(step: SendStep): Promise<Payment>;
  send(wish: Wish): { readonly request: Request; readonly exchange: Exchange; readonly arrived: Promise<void> };
  /** Resolves when the server knows that the client of a request has left. */
  left(request: Request): Promise<void>;
  kill(seller: 0 | 1): Promise<void>;
  /** What is on record for a payment. */
  find(payment: Payment): Promise<PaymentRecord | undefined>;
  isPaid(payment: Payment): boolean;
  wasUnknown(payment: Payment): boolean;
  isOrphaned(record: PaymentRecord): boolean;
  /** How much all processes wait for. */
  timers(): number;
  /** The seller's ledger. */
  entries(): Promise<readonly LedgerEntry[]>;
  /** Waits for settlements that are under way. */
  settleDown(): Promise<void>;
  /** Yields whether all connections had ended. */
  close(): Promise<boolean>;
}

/** Opens the shop. */
export async function createShop(stage: Stage, plan: SellerPlan): Promise<Shop> {
  const { time, facilitator } = stage;
  const notes = createNotes();
  stage.reconcile();
  const shared = createSharedStore(time.now, plan.store === "memory");
  const servers = stage.servers.slice(0, plan.facilitators);
  if (plan.supported === "fails") for (const { faults } of servers) faults.always("supported", { kind: "drop" });
  const isPaid = ({ nonce }: Payment) => facilitator.ledger.transfers.some((one) => one.nonce === nonce);
  const handler = createHandler({ notes, holdBytes: plan.holdBytes, isPaid: ({ payment }) => isPaid(payment) });
  const start = () =>
    startSeller({
      express: stage.express,
      plan,
      facilitators: servers.map(({ url }) => url),
      store: shared.connect(),
      handler,
      notes,
      time,
    });
  const sellers = plan.store === "memory" ? [await start()] : [await start(), await start()];
  const at = (seller: number) => sellers[seller % sellers.length] as Seller;
  const homes = new WeakMap<Request, Seller>();
  const askForChallenge = async (): Promise<PaymentRequired> => {
    const asking = { method: "POST", body: { wish: 1 }, headers: { "x-model": "1" } };
    const { challenge, status } = await pay(`http://127.0.0.1:${at(0).port}/goods`, asking);
    if (challenge === undefined) throw new Error(`no challenge but ${status}`);
    return challenge;
  };
  const first = await askForChallenge();

  const shop: Shop = {
    stage,
    plan,
    notes,
    servers,
    isPaid,
    wasUnknown: ({ identity }) => shared.wasUnknown(identity),
    isOrphaned: shared.isOrphaned,
    takePayment: (step) =>
      // A quote expires.
      takePayment({ stage, notes, challenge: plan.pricing === "fixed" ? async () => first : askForChallenge }, step),
    send(wish) {
      const seller = at(wish.seller);
      const { request, begin } = noteRequest(shop, shared, wish);
      homes.set(request, seller);
      return { request, exchange: sendRequest(request, seller.port, begin), arrived: seller.arrived(request.id) };
    },
    left: async (request) => homes.get(request)?.left(request.id),
    async kill(seller) {
      if (plan.store === "memory") return;
      const dead = at(seller);
      for (const request of notes.requests) if (homes.get(request) === dead) bury(request, notes);
      dead.die();
      sellers[seller] = await start();
      await sellers[seller].recover();
    },
    find: async (payment) => shared.base.find(payment.identity),
    entries: async () => (await shared.base.ledger?.list({ limit: 10_000 })) ?? [],
    timers: () => sellers.reduce((sum, seller) => sum + seller.timers(), 0),
    async settleDown() {
      await takeSteps(12);
      await untilSettled(shared);
    },
    async close() {
      const ended = await Promise.all(sellers.map((seller) => seller.close()));
      return !ended.includes(false);
    },
  };
  return shop;
}

/** A process is gone, and the handlers in it with it. */
function bury(request: Request, { runs }: Notes): void {
  request.isOrphan = true;
  for (const run of runs)
    if (run.request === request && !run.isOver) Object.assign(run, { isOver: true, isStopped: true });
}

/** A settlement that a dead process has left behind belongs to no process until its lease has expired. */
async function untilSettled({ base, isOrphaned }: SharedStore): Promise<void> {
  const isBusy = async () => {
    for await (const record of base.unfinished()) {
      if (record.state === "settling" && !isOrphaned(record)) return true;
    }
    return false;
  };
  await takeStepsUntil("a settlement never ends", async () => !(await isBusy()));
  await takeSteps(4);
}

/** What a signature takes. */
interface Counter {
  readonly stage: Stage;
  readonly notes: Notes;
  readonly challenge: () => Promise<PaymentRequired>;
}

async function takePayment({ stage, notes, challenge: ask }: Counter, step: SendStep): Promise<Payment> {
  const { payments } = notes;
  const known = step.payment === 0 ? undefined : payments[(step.payment - 1) % Math.max(payments.length, 1)];
  if (known !== undefined) return known;
  const payer = stage.payers[step.payer];
  const challenge = await ask();
  const [offer] = challenge.accepts;
  if (payer === undefined || offer === undefined) throw new Error("no payer can pay");
  const nonce = stage.nextNonce();
  // 15 seconds are left of those that expire soon.
  const now = () => stage.time.now() - (step.isShort ? 285_000 : 0);
  const signed = await payer.signExact(offer, { challenge, nonce, now });
  const name = `payment ${payments.length + 1}`;
  const payment: Payment = {
    name,
    payer,
    nonce,
    signature: String(signed.payload["signature"]),
    identity: [offer.network, offer.asset, payer.address, nonce].join("|").toLowerCase(),
    document: signed,
    hasId: step.hasId,
    expiresAtMs: now() + 300_000,
    keptUntilMs: now() + 300_000 + KEPT_MS,
    home: {
      path: "/goods",
      wish: 1,
      model: 1,
      id: step.hasId ? "own" : "none",
      writing: "as signed",
      condition: undefined,
      from: "127.0.0.1",
    },
  };
  payments.push(payment);
  return payment;
}

function changed({ home }: Payment, change: AnyChange): Variant {
  switch (change) {
    case "other body":
      return { ...home, wish: 2 };
    case "other header":
      return { ...home, model: 2 };
    case "other route":
      return { ...home, path: "/more" };
    case "other key order":
      return { ...home, writing: "reversed" };
    case "without id":
      return { ...home, id: "none" };
    case "other id":
      return { ...home, id: "other" };
    case "unknown fields":
    case "a second authorization":
    case "upper case":
      return { ...home, writing: change };
    case "if-none-match":
    case "if-modified-since":
    case "if-match":
    case "if-unmodified-since":
      return { ...home, condition: change };
    case "other address":
      return { ...home, from: "127.0.0.2" };
    default:
      return home;
  }
}

function noteRequest(shop: Shop, shared: SharedStore, { payment, change, order }: Wish) {
  const { notes, isPaid } = shop;
  const others = notes.requests.filter((one) => one.payment === payment);
  const under = others.filter(({ isUnderWay }) => isUnderWay);
  const record = shared.peek(payment.identity);
  const request: Request = {
    id: notes.requests.length,
    payment,
    sentAtMs: shop.stage.time.now(),
    variant: typeof change === "string" ? changed(payment, change) : change,
    order,
    isAlone: under.length === 0,
    isUnderWay: true,
    before: {
      isPaid: isPaid(payment),
      state: record?.state,
      hasId: record?.identifier !== undefined,
      id: idOnRecord(others, record),
      // A response that was held back once stays there: its payer may be somebody else than the client that got it.
      isDelivered: isDelivered(others) && !shared.wasHeldBack(payment.identity),
    },
    answer: undefined,
    isHandedOver: false,
    isOrphan: false,
  };
  for (const other of under) other.isAlone = false;
  notes.requests.push(request);
  const begin: Parameters<typeof send>[0]["begin"] = ({ statusCode = 0, headers }) => {
    const state = shared.peek(payment.identity)?.state;
    request.answer = { status: statusCode, headers, body: "", isWhole: false, isPaid: isPaid(payment), state };
    return request.answer;
  };
  return { request, begin };
}

/** Which id is on record. It is not clear once a payment was sent with both. */
function idOnRecord(requests: readonly Request[], record: PaymentRecord | undefined): Variant["id"] | undefined {
  const [id, ...more] = new Set(requests.map(({ variant }) => variant.id).filter((one) => one !== "none"));
  return record?.identifier === undefined || more.length > 0 ? undefined : id;
}

/**
 * All that was paid for has been received, and nothing broke off. A failure of a handler that was settled first is not it, nor is what a
 * copy got meanwhile: `answer_not_kept` has the receipt, too.
 */
function isDelivered(requests: readonly Request[]): boolean {
  const paid = requests.filter(
    ({ answer }) =>
      answer !== undefined && answer.status < 500 && answer.status !== 409 && readReceipt(answer).success === true,
  );
  const isLost = requests.some(({ answer, isOrphan }) => answer === undefined || isOrphan);
  return paid.length > 0 && !isLost && paid.every(({ answer }) => answer?.isWhole);
}

function sendRequest(request: Request, port: number, begin: Parameters<typeof send>[0]["begin"]): Exchange {
  const { payment, variant, order, id } = request;
  const exchange = send({
    port,
    path: variant.path,
    headers: {
      "payment-signature": writePayment(payment, variant),
      "x-request": String(id),
      "x-model": String(variant.model),
      ...(variant.condition === undefined ? {} : { [variant.condition]: CONDITIONS[variant.condition] }),
    },
    body: JSON.stringify({ wish: variant.wish }),
    from: variant.from,
    reading: order.client,
    begin,
  });
  void exchange.done.then(() => {
    request.isUnderWay = false;
  });
  return exchange;
}

function writePayment({ document, nonce }: Payment, { id, writing }: Variant): string {
  const sent =
    id === "none"
      ? document
      : withId(
          document,
          createHash("sha256")
            .update(nonce + id)
            .digest("base64url"),
        );
  return Buffer.from(JSON.stringify(written(sent, writing))).toString("base64");
}

function withId(document: PaymentPayload, id: string): PaymentPayload {
  const extensions = { ...document.extensions, "payment-identifier": { info: { required: false, id } } };
  return { ...document, extensions } as PaymentPayload;
}

/** The same payment in other words: what a scheme does not read, and hex digits in upper case. */
function written(document: PaymentPayload, writing: Variant["writing"]): unknown {
  const { payload } = document;
  switch (writing) {
    case "reversed":
      return reversed(document);
    case "unknown fields":
      return {
        ...document,
        payload: { ...payload, note: { made: "up" }, authorization: { ...fieldsOf(payload), memo: 1 } },
      };
    case "a second authorization":
      return { ...document, payload: { ...payload, permit2Authorization: {} } };
    case "upper case":
      return { ...document, payload: inUpperCase(payload) };
    default:
      return document;
  }
}

function fieldsOf({ authorization }: PaymentPayload["payload"]): object {
  return authorization as object;
}

function inUpperCase(value: unknown): unknown {
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inUpperCase(one)]));
  return typeof value === "string" && value.startsWith("0x") ? `0x${value.slice(2).toUpperCase()}` : value;
}

/** The same document with every object's keys the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, one]) => [key, reversed(one)]),
  );
}
