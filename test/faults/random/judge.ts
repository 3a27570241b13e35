/**
 * The rules that hold in every sequence, for all requests and faults.
 *
 * @module
 */
import { checkAnswers, isSold } from "./answers.js";
import { type Answer, type Goods, type Payment, type Request, type Run, readGoods, readReceipt } from "./notes.js";
import type { SellerPlan } from "./plan.js";
import { centsOf, MAX_RUNS } from "./seller.js";
import type { Shop } from "./shop.js";

/** Yields everything that is wrong with a sequence's outcome, and closes the shop. */
export async function judge(shop: Shop): Promise<readonly string[]> {
  const { notes } = shop;
  const paying = notes.payments.flatMap((payment) => [...checkRuns(shop, payment), ...checkDebit(shop, payment)]);
  const answers = notes.requests.flatMap((request) => [...checkGoods(shop, request), ...checkAnswers(shop, request)]);
  return [
    ...notes.found,
    ...shop.stage.takeStrange(),
    ...paying,
    ...answers,
    ...(await checkNothingIsLeft(shop)),
    ...(await checkLedger(shop)),
  ];
}

/** 5. The seller's ledger has each transfer once, with its amount, and nothing else. */
async function checkLedger({ notes, stage, entries }: Shop): Promise<readonly string[]> {
  const nonces = new Set(notes.payments.map(({ nonce }) => nonce));
  const moved = stage.facilitator.ledger.transfers.filter(({ nonce }) => nonces.has(nonce));
  const [paid, written] = [moved, await entries()].map((some) =>
    some.map(({ transaction, amount }) => `${amount} by ${transaction}`).sort(),
  );
  return String(paid) === String(written) ? [] : [`[5] moved was ${paid}, and the ledger has ${written}`];
}

/**
 * 1. A handler runs once for a charged payment, and again only where there was nothing to keep of the first answer, or where
 *    the payment was settled first because its runs had been abandoned.
 */
function checkRuns({ notes, plan }: Shop, payment: Payment): readonly string[] {
  const runs = notes.runs.filter(({ request }) => request.payment === payment);
  const found: string[] = [];
  const say = (run: Run, what: string) => found.push(`[1] ${payment.name}: run ${run.id} ${what}`);
  const late = runs.filter(({ isPaid }) => isPaid);
  if (plan.settle === "before") {
    for (const run of runs.filter(({ isPaid }) => !isPaid)) say(run, "began before the money had moved");
    for (const run of late.slice(1).filter((one) => one !== late[1] || !isFailed(late[0])))
      say(run, "is not the first one for the money");
    return found;
  }
  const before = (run: Run) => runs.slice(0, runs.indexOf(run));
  const isOwed = (run: Run) => before(run).some(({ isLarge }) => isLarge) || mayBeSettledFirst(notes.runs, run);
  for (const run of late.filter((one) => !isOwed(one)))
    say(run, "began after the money had moved, though the answer was kept");
  const paidBefore = (run: Run) => before(run).filter(({ isPaid, isStopped }) => isPaid && !isStopped);
  for (const run of late.filter((one) => paidBefore(one).some((other, at) => at > 0 || !isUncharged(other))))
    say(run, "is the second one for the money");
  const sold = new Set(paidAnswersOf(notes.requests, payment).map(({ body }) => readGoods(body)?.goods));
  const first = runs.filter(({ id, isPaid }) => sold.has(id) && !isPaid);
  for (const run of first.slice(1)) say(run, "was sold for a payment for which another run had been sold");
  return found;
}

/** Whether clients left so many runs before: of this payment, or one of it and as many of its payer as may be. */
function mayBeSettledFirst(runs: readonly Run[], run: Run): boolean {
  const { payment } = run.request;
  const left = runs.slice(0, runs.indexOf(run)).filter(({ isPaid, isStopped }) => !isPaid && isStopped);
  const ofPayment = left.filter(({ request }) => request.payment === payment).length;
  const ofPayer = left.filter(({ request }) => request.payment.payer === payment.payer).length;
  return ofPayment >= 2 || (ofPayment === 1 && ofPayer >= MAX_RUNS);
}

function runsOf({ notes }: Shop, payment: Payment): readonly Run[] {
  return notes.runs.filter(({ request }) => request.payment === payment);
}

/** Whether a handler responded with 500: one that was settled first runs once more. */
function isFailed(run: Run | undefined): boolean {
  return run !== undefined && FAILING.includes(run.request.order.handler);
}

const FAILING: readonly string[] = ["answers 500", "throws", "gives next an error", "writes a head with 500"];

/** Whether a handler's response would not be charged: a run for which the money had moved is repeated once. */
function isUncharged(run: Run): boolean {
  return isFailed(run) || ["redirects", "answers 304", "writes, then throws"].includes(run.request.order.handler);
}

/** 2. A payer was debited at most once, and then has the response; or left what could not be kept. */
function checkDebit(shop: Shop, payment: Payment): readonly string[] {
  const { transfers } = shop.stage.facilitator.ledger;
  const [transfer, ...more] = transfers.filter(({ nonce }) => nonce === payment.nonce);
  if (more.length > 0) return [`[2] ${payment.name} was debited ${more.length + 1} times`];
  if (transfer === undefined) return [];
  const paid = paidAnswersOf(shop.notes.requests, payment);
  const other = paid.find((answer) => readReceipt(answer).transaction !== transfer.transaction);
  if (other !== undefined) return [`[2] ${payment.name} has a receipt for another transaction`];
  if (paid.some(({ isWhole }) => isWhole) || isExcused(shop, payment)) return [];
  return [`[2] ${payment.name} was debited, and its payer never got a whole answer for it`];
}

/** Whether clients left two runs that are owed again: the next one has to wait. */
function isAbandoned(runs: readonly Run[]): boolean {
  return runs.filter((run) => (run.isPaid && run.isStopped) || isLost(run)).length >= 2;
}

/** Whether the client left before a response arrived that was too large to keep. */
function isLost({ isLarge, request }: Run): boolean {
  return isLarge && request.answer?.isWhole !== true;
}

/** The answer went out while the client was there to take it, or is one that is begun once. */
function isExcused({ notes, plan }: Shop, payment: Payment): boolean {
  const requests = notes.requests.filter((request) => request.payment === payment);
  const runs = notes.runs.filter(({ request }) => request.payment === payment);
  if (requests.some(({ isHandedOver }) => isHandedOver)) return true;
  // Told to come again, it came when all was forgotten.
  const inTime = requests.filter(({ sentAtMs }) => sentAtMs < payment.keptUntilMs);
  if (inTime.length < requests.length && inTime.at(-1)?.answer?.status === 503) return true;
  if (plan.settle === "before") return runs.length > 0;
  if (isAbandoned(runs)) return true;
  return runs.some(({ isLarge, request }) => isLarge && request.answer !== undefined && !request.answer.isWhole);
}

function paidAnswersOf(requests: readonly Request[], payment: Payment): readonly Answer[] {
  return requests.flatMap((request) => {
    const { answer } = request;
    if (request.payment !== payment || answer === undefined) return [];
    // `answer_not_kept` has the receipt, too.
    return readReceipt(answer).success === true && answer.status !== 409 ? [answer] : [];
  });
}

/** States in which the facilitator may have been told, so that the payment may have been seen by others. */
const PUBLIC: readonly (string | undefined)[] = ["settling", "settled", "owed", "unsent", "unknown"];

/** 3. A sold response was paid for when its first byte arrived, by this payment and for this request, and goes to no other client. */
function checkGoods(shop: Shop, request: Request): readonly string[] {
  const { answer, payment, variant, before } = request;
  if (answer === undefined || !isSold(answer)) return [];
  const found: string[] = [];
  const say = (what: string) => found.push(`[3] ${payment.name}, request ${request.id}: ${what}`);
  if (!answer.isPaid) say("goods arrived before the money had moved");
  if (readReceipt(answer).success !== true) say("goods arrived without a receipt");
  const goods = readGoods(answer.body);
  if (goods !== undefined && !isFor(shop.plan, goods, request))
    say(`the goods are for something else: ${JSON.stringify(goods)}`);
  const cents = goods === undefined ? 0 : centsOf(shop.plan, goods);
  const paid = shop.stage.facilitator.ledger.transfers.find(({ nonce }) => nonce === payment.nonce);
  if (paid !== undefined && paid.amount < BigInt(cents) * 10_000n) say(`${cents} cents of goods for ${paid.amount}`);
  const knowsId = !before.hasId || before.id === undefined || before.id === variant.id;
  if (!knowsId && PUBLIC.includes(before.state)) say("goods went to a copy without the id");
  if (!before.hasId && before.isDelivered) say("goods went out again that had been delivered");
  if (isStranger(request, shop.notes.requests)) say("goods went to a copy from elsewhere");
  return found;
}

function isFor({ pricing }: SellerPlan, { payment: name, path, wish, model }: Goods, { payment, variant }: Request) {
  if (pricing === "by header" && model !== variant.model) return false;
  return name === payment.name && path === variant.path && wish === variant.wish;
}

/** Came while the money moved, from an address that no other client got anything at, and nothing had broken off. */
function isStranger(request: Request, requests: readonly Request[]): boolean {
  const { before, payment, variant } = request;
  if (before.state !== "settling" || before.hasId) return false;
  const others = requests.filter((one) => one.payment === payment && one !== request);
  const earlier = others.filter(({ id }) => id < request.id);
  if (earlier.length === 0 || earlier.some((one) => one.variant.from === variant.from)) return false;
  return others.every(({ answer, isOrphan }) => !isOrphan && (answer?.isWhole ?? false) && answer?.state !== "unknown");
}

/** 4. Nothing is left of a sequence: no claim, no timer, no socket, nothing unheard, and no signature in the log. */
async function checkNothingIsLeft(shop: Shop): Promise<readonly string[]> {
  const { notes } = shop;
  const found: string[] = [];
  for (const payment of notes.payments) {
    const record = await shop.find(payment);
    const isOver = shop.stage.time.now() > payment.expiresAtMs;
    const state = record?.state ?? "settled";
    const isEnded =
      ["settled", "rejected"].includes(state) ||
      (state === "owed" && shop.plan.settle === "before" && isFailed(runsOf(shop, payment)[0])) ||
      (state === "owed" && shop.plan.settle === "after" && isAbandoned(runsOf(shop, payment))) ||
      (state === "claimed" && record !== undefined && shop.isOrphaned(record)) ||
      (["unknown", "unsent"].includes(state) && isOver && !shop.isPaid(payment));
    if (!isEnded) found.push(`[4] ${payment.name} is left ${state}`);
  }
  if (shop.timers() > 0) found.push(`[4] ${shop.timers()} timers are left`);
  if (!(await shop.close())) found.push("[4] a connection is left");
  if (shop.timers() > 0) found.push("[4] a timer is left after close()");
  const secret = notes.payments.find(({ signature }) => notes.log.some((line) => line.includes(signature.slice(2))));
  if (secret !== undefined) found.push(`[4] the signature of ${secret.name} is in the log`);
  return found;
}
