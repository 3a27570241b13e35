/**
 * Alarms: what is to happen after so many milliseconds, and is nearly always called off before.
 *
 * A payment sets three. One timer of Node's ticks once a second for all of them, as long as there are any; an alarm gets a timer of its
 * own for the last part of its time.
 *
 * @see `docs/background/performance.md`
 * @module
 */
import { Chain, type Link } from "./chain.js";

/** Something that will happen unless it is stopped. */
export interface Alarm {
  /** Calls it off. Does nothing once it has happened. */
  stop(): void;
}

/** Whether the process stays for it, or may end before, in Node's words for timers. */
type Kind = "ref" | "unref";

const TICK_MS = 1_000;

/** Alarms of one second. */
type Bucket = Chain<Waiting>;

class Waiting implements Alarm, Link<Waiting> {
  readonly act: () => void;
  readonly dueMs: number;
  readonly kind: Kind;
  /** Where it waits; `undefined` when it waits no more, or has a timer of its own. */
  bucket: Bucket | undefined;
  before: Waiting | undefined;
  after: Waiting | undefined;
  timer: NodeJS.Timeout | undefined;

  constructor(act: () => void, dueMs: number, kind: Kind) {
    this.act = act;
    this.dueMs = dueMs;
    this.kind = kind;
  }

  stop(): void {
    if (this.bucket !== undefined) leave(this, this.bucket);
    else clearTimeout(this.timer);
  }
}

/** Buckets by the second in which their alarms are due. */
const buckets = new Map<number, Bucket>();
const waiting: Record<Kind, number> = { ref: 0, unref: 0 };
let ticking: Ticking | undefined;

interface Ticking {
  readonly timer: NodeJS.Timeout;
  /** Who will tick: tests put timers of their own in the place of Node's, and take them away again. */
  readonly by: typeof setTimeout;
  readonly dueMs: number;
}

/**
 * Sets an alarm. Its time runs by a clock that nobody can set.
 *
 * @param delayMs - Any number of milliseconds; Node's timers fire at once when they are told to wait for more than 24 days.
 * @param kind - `unref`: keeps no process alive.
 */
export function setAlarm(act: () => void, delayMs: number, kind: Kind): Alarm {
  const nowMs = performance.now();
  const alarm = new Waiting(act, nowMs + delayMs, kind);
  if (delayMs < TICK_MS) startTimer(alarm, delayMs);
  else enter(alarm, nowMs);
  return alarm;
}

function startTimer(alarm: Waiting, delayMs: number): void {
  alarm.timer = setTimeout(alarm.act, delayMs);
  if (alarm.kind === "unref") alarm.timer.unref();
}

function enter(alarm: Waiting, nowMs: number): void {
  const bucket = bucketOf(Math.floor(alarm.dueMs / TICK_MS));
  alarm.bucket = bucket;
  bucket.add(alarm);
  waiting[alarm.kind]++;
  if (!isTicking(nowMs)) startTicking(nowMs);
  else if (alarm.kind === "ref" && waiting.ref === 1) ticking?.timer.ref();
}

/** Whether a tick will come. One that is long overdue, or is yet to come in a time that is no more, will not. */
function isTicking(nowMs: number): boolean {
  return ticking?.by === setTimeout && Math.abs(ticking.dueMs - nowMs) <= 2 * TICK_MS;
}

function startTicking(nowMs: number): void {
  const timer = setTimeout(() => {
    if (ticking?.timer === timer) tick();
  }, TICK_MS);
  if (waiting.ref === 0) timer.unref();
  ticking = { timer, by: setTimeout, dueMs: nowMs + TICK_MS };
}

function bucketOf(second: number): Bucket {
  const known = buckets.get(second);
  if (known !== undefined) return known;
  const bucket: Bucket = new Chain();
  buckets.set(second, bucket);
  return bucket;
}

function leave(alarm: Waiting, bucket: Bucket): void {
  bucket.remove(alarm);
  alarm.bucket = undefined;
  waiting[alarm.kind]--;
  if (alarm.kind === "ref" && waiting.ref === 0) ticking?.timer.unref();
}

/** Whatever is due before the next tick gets a timer of its own. */
function tick(): void {
  ticking = undefined;
  const nowMs = performance.now();
  for (const [second, bucket] of buckets) {
    if (second * TICK_MS > nowMs + TICK_MS) continue;
    buckets.delete(second);
    startTimers(bucket, nowMs);
  }
  if (waiting.ref + waiting.unref > 0) startTicking(nowMs);
}

function startTimers(bucket: Bucket, nowMs: number): void {
  for (let alarm = bucket.first; alarm !== undefined; alarm = bucket.first) {
    leave(alarm, bucket);
    startTimer(alarm, alarm.dueMs - nowMs);
  }
}
