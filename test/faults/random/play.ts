/**
 * Plays one sequence on the stage, and notes the outcome.
 *
 * @module
 */
import { createLatch, type Latch } from "../latch.js";
import type { Exchange } from "./client.js";
import { toFault } from "./facilitator-faults.js";
import type { Order, Payment, Request } from "./notes.js";
import {
  type AnyFault,
  HOSTILE,
  type PassStep,
  type RefuseStep,
  type SendStep,
  type Sequence,
  type Step,
} from "./plan.js";
import { createShop, type Shop } from "./shop.js";
import type { Stage } from "./stage.js";
import { takeSteps, takeStepsUntil } from "./time.js";

/** Plays the steps, ends all faults, lets every payer come back, and lets time pass until nothing happens any more. */
export async function play(stage: Stage, sequence: Sequence): Promise<Shop> {
  const shop = await createShop(stage, sequence.seller);
  for (const step of sequence.steps) {
    await comeBackInTime(shop);
    shop.notes.isTroubled ||= isTrouble(step);
    await playStep(shop, step);
  }
  stage.reconcile();
  refuse(shop, undefined);
  for (let turn = 0; turn < 2; turn++) await letPass(shop, 65);
  for (const payment of shop.notes.payments) await comeBack(shop, payment);
  // Longer than any payment lives, and than any seller or payer asks about it.
  for (let turn = 0; turn < 40 && shop.timers() > 0; turn++) await letPass(shop, 65);
  return shop;
}

async function playStep(shop: Shop, step: Step): Promise<void> {
  if (step.kind === "send") return playSend(shop, step);
  if (step.kind === "pass") return playPass(shop, step);
  if (step.kind === "turn") return shop.stage.turnHostile(step.how);
  if (step.kind === "refuse") return refuse(shop, step.by);
  return shop.kill(step.seller);
}

async function playPass(shop: Shop, { seconds, settle }: PassStep): Promise<void> {
  if (settle !== undefined) for (const { faults } of shop.servers) faults.always("settle", toFault(settle));
  await letPass(shop, seconds);
  clear(shop);
}

async function letPass(shop: Shop, seconds: number): Promise<void> {
  shop.stage.time.pass(seconds * 1000);
  await shop.settleDown();
}

/** How the first facilitator of a shop refuses every settlement. */
const refusals = new WeakMap<Shop, RefuseStep["by"]>();

function refuse(shop: Shop, by: RefuseStep["by"]): void {
  refusals.set(shop, by);
  clear(shop);
}

/** Ends what was to go wrong. A facilitator that refuses for good goes on. */
function clear(shop: Shop): void {
  for (const { faults } of shop.servers) faults.clear();
  const by = refusals.get(shop);
  if (by !== undefined) shop.servers[0]?.faults.always("settle", toFault(by));
}

/** What can be done to the requests of a step while they are under way. */
interface Scene {
  readonly shop: Shop;
  readonly step: SendStep;
  readonly payment: Payment;
  readonly order: Order;
  readonly begin: Latch;
  readonly letGo: Latch;
  /** Resolves when the moment has come. */
  readonly reached: Promise<void>;
}

async function playSend(shop: Shop, step: SendStep): Promise<void> {
  const scene = await setScene(shop, step);
  const doesWait = step.moment?.doing === "its copies come";
  const first = sendOne(scene, scene.order, step.change);
  const copies = () => Array.from({ length: copiesOf(step) }, () => sendOne(scene, copyOrder(scene), step.copyChange));
  const early = doesWait ? [] : copies();
  let isReached = false;
  void scene.reached.then(() => {
    isReached = true;
  });
  const isAtMoment = () =>
    (step.moment !== undefined && isReached) || doesHang(scene) || areAnswered([first, ...early]);
  await takeStepsUntil("a request is never answered", afterWaiting(shop, isAtMoment));
  const late = doesWait ? copies() : [];
  await Promise.all(late.map(({ arrived }) => arrived));
  // Long enough for a copy that does not wait to be verified, and to meet the first one.
  await takeSteps(doesWait ? 400 : 6);
  await act(scene, first);
  scene.begin.open();
  clear(shop);
  await endHanging(scene, [first, ...early, ...late]);
  scene.letGo.open();
  const areAll = () => areAnswered([first, ...early, ...late]);
  await takeStepsUntil("a request is never answered", afterWaiting(shop, areAll));
  await shop.settleDown();
  noteTimers(shop);
  noteHonest(scene, first.request);
}

/** 6. An honest payment is served whatever happens to the settlements of a hostile payer. */
function noteHonest({ shop, step, payment }: Scene, { answer }: Request): void {
  const isHonest = step.payer !== HOSTILE && !step.isShort && step.change === "none" && step.copies === 0;
  const isGood = step.handler === "answers" && step.client === "reads all" && step.moment === undefined;
  const isFirst = shop.notes.requests.filter((request) => request.payment === payment).length === 1;
  if (!isHonest || !isGood || !isFirst || shop.notes.isTroubled || answer?.status === 200) return;
  shop.notes.found.push(`[6] ${payment.name} of an honest payer got ${answer?.status}`);
}

/** Whether more goes wrong in a step than a hostile payer's settlement. */
function isTrouble(step: Step): boolean {
  if (step.kind === "send") return (step.verify ?? step.settle ?? step.moment) !== undefined;
  return step.kind === "die" || step.kind === "refuse" || (step.kind === "pass" && step.settle !== undefined);
}

/** Between requests only settlements whose outcome was unknown once wait for anything. */
function noteTimers(shop: Shop): void {
  const { plan, notes } = shop;
  const most = notes.payments.filter(shop.wasUnknown).length;
  if (plan.store === "memory" && shop.timers() > most) notes.found.push("[4] a timer is left of a request");
}

function areAnswered(sent: readonly { readonly request: Request }[]): boolean {
  return sent.every(({ request }) => !request.isUnderWay);
}

function copiesOf({ copies, moment }: SendStep): number {
  return moment?.doing === "its copies come" ? Math.max(copies, 1) : copies;
}

async function setScene(shop: Shop, step: SendStep): Promise<Scene> {
  const [begin, letGo, running] = [createLatch(), createLatch(), createLatch()];
  const moment = step.moment?.when;
  const held = moment === undefined ? undefined : planMoment(shop, moment, running.opened);
  planFault(shop, "verify", step.verify);
  planFault(shop, "settle", step.settle);
  const order: Order = {
    handler: step.handler,
    client: step.client,
    begin: moment === "being served" ? begin.opened : undefined,
    letGo: letGo.opened,
    onRun: running.open,
  };
  const payment = await shop.takePayment(step);
  return { shop, step, payment, order, begin, letGo, reached: held ?? new Promise<void>(() => {}) };
}

type When = NonNullable<SendStep["moment"]>["when"];

/** Without an answer, so that what is to happen happens in between. */
function planMoment({ servers }: Shop, when: When, running: Promise<void>): Promise<void> {
  if (when === "being served") return running;
  const operation = when === "being verified" ? "verify" : "settle";
  const timing = when === "settled, but not answered for" ? "after" : "before";
  return Promise.race(servers.map(({ faults }) => faults.next(operation, { kind: "hold", when: timing }).reached));
}

/** Strikes the seller's first facilitator. */
function planFault({ servers }: Shop, operation: "verify" | "settle", name: AnyFault | undefined): void {
  if (name !== undefined) servers[0]?.faults.next(operation, toFault(name));
}

interface Sent {
  readonly request: Request;
  readonly exchange: Exchange;
  readonly arrived: Promise<unknown>;
}

function sendOne({ shop, payment, step }: Scene, order: Order, change: SendStep["change"]): Sent {
  const { request, exchange, arrived } = shop.send({ payment, change, order, seller: step.seller });
  return { request, exchange, arrived: Promise.race([arrived, exchange.done]) };
}

/** Only the first request is held up. */
function copyOrder({ order }: Scene): Order {
  return { ...order, client: "reads all", begin: undefined, onRun: () => {} };
}

async function act({ shop, step }: Scene, { request, exchange }: Sent): Promise<void> {
  switch (step.moment?.doing) {
    case "the client leaves":
      exchange.leave();
      await Promise.race([shop.left(request), exchange.done.then(() => takeSteps(4))]);
      return takeSteps(4);
    case "the client half-closes":
      exchange.halfClose();
      return takeSteps(8);
    case "the seller dies":
      return shop.kill(step.seller);
    case "a minute passes":
      shop.stage.time.pass(60_000);
      return takeSteps(8);
    case "six minutes pass":
      shop.stage.time.pass(360_000);
      return takeSteps(8);
    default:
      return;
  }
}

/** Time ends a handler that hangs, where the payment's time still matters; where it does not, the test does. */
async function endHanging(scene: Scene, sent: readonly Sent[]): Promise<void> {
  const isOver = () => doesHang(scene) || areAnswered(sent);
  await takeStepsUntil("a request is never answered", afterWaiting(scene.shop, isOver));
  if (!doesHang(scene)) return;
  scene.shop.stage.time.pass(305_000);
  await takeSteps(8);
}

/** A request may wait for a process that has died: then its time passes, once. */
const STEPS_BEFORE_WAITING = 1_000;

function afterWaiting({ plan, stage }: Shop, holds: () => boolean): () => boolean {
  let steps = 0;
  return () => {
    const isOver = holds();
    if (!isOver && ++steps === STEPS_BEFORE_WAITING && plan.store !== "memory") stage.time.pass(plan.copyWaitMs + 1);
    return isOver;
  };
}

/** Whether a handler is at work that does not end by itself. */
function doesHang({ shop, step }: Scene): boolean {
  const isPatient = step.handler === "hangs" || step.handler === "goes on when the client has left";
  return isPatient && shop.notes.runs.some(({ isOver }) => !isOver);
}

/** More than passes in any step. */
const SOON_MS = 700_000;

/** A payer who comes back after its payment was forgotten gets nothing for it. */
async function comeBackInTime(shop: Shop): Promise<void> {
  const now = shop.stage.time.now();
  const due = shop.notes.payments.filter(({ keptUntilMs }) => now < keptUntilMs && now + SOON_MS > keptUntilMs);
  for (const payment of due) await comeBack(shop, payment);
}

/** The payer sends each payment once more, in each form in which it was sent. */
async function comeBack(shop: Shop, payment: Payment): Promise<void> {
  const sent = shop.notes.requests.filter((request) => request.payment === payment);
  const variants = new Map(sent.map(({ variant }) => [JSON.stringify({ ...variant, writing: "" }), variant]));
  const order: Order = {
    handler: "answers",
    client: "reads all",
    begin: undefined,
    letGo: Promise.resolve(),
    onRun: () => {},
  };
  for (const variant of variants.values()) {
    const sent = shop.send({ payment, change: variant, order, seller: 0 });
    await takeStepsUntil(
      "a payer that comes back is never answered",
      afterWaiting(shop, () => areAnswered([sent])),
    );
    await shop.settleDown();
  }
}
