/**
 * The payment store in Redis. Each call is one script, which Redis runs as a whole.
 *
 * @module
 */
import {
  type Claim,
  type ClaimRequest,
  type ExposureEntry,
  type ExposureSums,
  type Owned,
  type PaymentRecord,
  type PaymentStore,
  type SharedExposure,
  type SharedLedger,
  type SharedRun,
  type SharedRuns,
  StoreError,
  type StoreProblem,
  sizeOfAnswer,
  TRANSITIONS,
  type Transition,
  UNFINISHED,
} from "@farebox/core";
import { type ParsedOptions, parseOptions, type StoreOptions } from "../options.js";
import { textOf, withinLimit } from "../time-limit.js";
import { type Commands, checkClient, commandsOf, type RedisClient } from "./client.js";
import { ledgerKeys, RedisLedger, wordsOf } from "./ledger.js";
import { RedisNotifications } from "./notifications.js";
import { adviceFor, checkServer, readInfo } from "./readiness.js";
import { fieldsOfChange, fieldsOfClaim, readRecord } from "./record-fields.js";
import type { Script } from "./script.js";
import {
  CLAIM,
  FIND,
  KEEP,
  LIST_UNFINISHED,
  PUT_EXPOSURE,
  PUT_RUN,
  RELEASE,
  REMOVE_EXPOSURE,
  REMOVE_RUN,
  RENEW,
  TRANSITION,
} from "./scripts.js";

export type { StoreOptions } from "../options.js";
export type { RedisClient } from "./client.js";

/** A payment store in Redis. `watch` is absent if the client has no `duplicate()`. */
export interface RedisStore extends Required<Omit<PaymentStore, "watch">>, Pick<PaymentStore, "watch"> {
  /** Closes the connection that the store has opened for notifications. The client stays open. */
  close(): void;
}

/** Records of one page of `unfinished`. */
const PAGE = 50;

/** Records of one call of `RENEW`: a longer script would hold up other clients. */
const RENEWED_AT_ONCE = 500;

/**
 * Creates a payment store in Redis 6 or later, or Valkey.
 *
 * All keys begin with `{prefix}:`, so that a cluster keeps them on one node. Redis forgets a record by itself, ten minutes after its payment
 * has expired; one that is unfinished stays until it has ended.
 *
 * @param client - A client or cluster of `redis` 5 or 6, one of `ioredis` 5 or 6, or `{ sendCommand: (...words) => … }`.
 * @throws ConfigError when it is another object, or an option is wrong
 */
export function redisStore(client: RedisClient, options: StoreOptions = {}): RedisStore {
  const parsed = parseOptions(options, { tables: false, check: (issues) => checkClient(client, issues) });
  return new Redis(commandsOf(client), parsed);
}

class Redis implements RedisStore {
  readonly runs: SharedRuns;
  readonly exposure: SharedExposure;
  readonly ledger: SharedLedger;
  readonly watch?: NonNullable<PaymentStore["watch"]>;
  readonly #commands: Commands;
  readonly #limitMs: number;
  readonly #most: number;
  readonly #base: string;
  readonly #notifications: RedisNotifications | undefined;

  constructor(commands: Commands, { prefix, timeoutMs: limitMs, maxAnswerBytes }: ParsedOptions) {
    this.#commands = commands;
    this.#limitMs = limitMs;
    this.#most = maxAnswerBytes;
    this.#base = prefix.includes("{") ? prefix : `{${prefix}}`;
    this.runs = { put: (run, nowMs) => this.#putRun(run, nowMs), remove: (run) => this.#removeRun(run) };
    this.exposure = {
      put: (entry, nowMs) => this.#putExposure(entry, nowMs),
      remove: (entry) => this.#removeExposure(entry),
    };
    this.ledger = new RedisLedger({
      run: (script, keys, words) => this.#run(script, keys, words),
      key: (...parts) => this.#key(...parts),
    });
    if (commands.subscribe === undefined) return;
    const notifications = new RedisNotifications(commands.subscribe, limitMs);
    this.#notifications = notifications;
    this.watch = (identity, onChange) => notifications.watch(this.#key("c", identity), onChange);
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const { identity, owner, identifier, expiresAtMs } = request;
    const keys = [this.#key("p", identity), ...(identifier === undefined ? [] : [this.#key("i", identifier)])];
    const words = [identity, String(expiresAtMs), ...fieldsOfClaim(request)];
    // The request has been refused by then, so a claim that comes too late is given back.
    const onLate = (late: unknown) => {
      if (String(late) === "claimed") void this.release(identity, owner).catch(() => {});
    };
    const reply = await this.#run(CLAIM, keys, words, onLate);
    const record = Array.isArray(reply) ? readRecord(reply) : undefined;
    if (record !== undefined) return { kind: "taken", record };
    const kind = String(reply);
    if (kind === "claimed" || kind === "identifier_taken") return { kind };
    throw new StoreError(NO_REPLY);
  }

  async find(identity: string): Promise<PaymentRecord | undefined> {
    const reply = await this.#run(FIND, [this.#key("p", identity)], []);
    if (!Array.isArray(reply)) throw new StoreError(NO_REPLY);
    return readRecord(reply);
  }

  async transition(given: Transition): Promise<boolean> {
    const size = given.answer ? sizeOfAnswer(given.answer) : 0;
    const change = size > this.#most ? { ...given, answer: null } : given;
    const { identity, from, owner, to, entry } = change;
    if (!TRANSITIONS[from].includes(to)) return false;
    const { written, removed } = fieldsOfChange(change);
    const own = [this.#key("p", identity), this.#key("unfinished"), this.#key("i", "")];
    const paidBy = change.transaction === undefined ? [] : [this.#key("t", change.transaction)];
    const keys = [...own, ...ledgerKeys((...parts) => this.#key(...parts)), ...this.#keptKeys(), ...paidBy];
    const kept = change.answer === undefined ? "" : change.answer === null ? "none" : String(size);
    const room = [kept, change.delivers === true ? "1" : "", String(this.#most)];
    const head = [
      identity,
      this.#key("c", identity),
      from,
      owner,
      to,
      ...wordsOf(entry),
      ...room,
      String(written.length),
    ];
    return Number(await this.#run(TRANSITION, keys, [...head, ...written, ...removed])) === 1;
  }

  async release(identity: string, owner: string): Promise<void> {
    const words = [identity, this.#key("c", identity), owner];
    const keys = [this.#key("p", identity), this.#key("unfinished"), this.#key("i", ""), ...this.#keptKeys()];
    await this.#run(RELEASE, keys, words);
  }

  async *unfinished(): AsyncIterable<PaymentRecord> {
    const index = [this.#key("unfinished")];
    for (let after = "-"; ; ) {
      const page = listOf(await this.#run(LIST_UNFINISHED, index, [after, String(PAGE)])).map(String);
      const records = await Promise.all(page.map((identity) => this.find(identity)));
      for (const record of records) if (record !== undefined && UNFINISHED.includes(record.state)) yield record;
      if (page.length < PAGE) return;
      after = `(${page.at(-1)}`;
    }
  }

  async renew(owned: readonly Owned[], leaseUntilMs: number): Promise<void> {
    for (let at = 0; at < owned.length; at += RENEWED_AT_ONCE) {
      const some = owned.slice(at, at + RENEWED_AT_ONCE);
      const keys = some.map(({ identity }) => this.#key("p", identity));
      await this.#run(RENEW, keys, [String(leaseUntilMs), ...some.map(({ owner }) => owner)]);
    }
  }

  async keep(name: string, value: string): Promise<string> {
    return String(await this.#run(KEEP, [this.#key("k", name)], [value]));
  }

  async ready(): Promise<readonly StoreProblem[]> {
    const info = readInfo(await this.#ask(["INFO"]));
    const [, appendFsync] = (await this.#askList(["CONFIG", "GET", "appendfsync"])) ?? [];
    const problems = checkServer(info, appendFsync);
    // Shows that scripts may run, and that the client passes on what they return.
    await this.find("ready");
    return problems;
  }

  close(): void {
    this.#notifications?.close();
  }

  async #putRun(run: SharedRun, nowMs: number): Promise<readonly SharedRun[]> {
    const words = [String(nowMs), run.id, String(run.untilMs), JSON.stringify(run)];
    return listOf(await this.#run(PUT_RUN, [this.#key("r", run.payer)], words)).map((json) => JSON.parse(String(json)));
  }

  async #removeRun({ id, payer }: Pick<SharedRun, "id" | "payer">): Promise<void> {
    await this.#run(REMOVE_RUN, [this.#key("r", payer)], [id]);
  }

  async #putExposure(entry: ExposureEntry, nowMs: number): Promise<ExposureSums> {
    const { identity, payer, untilMs, isDue } = entry;
    const micros = BigInt(entry.micros);
    const parts = [micros / LOW_PART, micros % LOW_PART].map(String);
    // Behind its length, no payer begins with another one.
    const words = [String(nowMs), identity, `${payer.length}:${payer}`, ...parts, String(untilMs), isDue ? "1" : "0"];
    const until = performance.now() + this.#limitMs;
    for (;;) {
      const reply = await this.#run(PUT_EXPOSURE, this.#exposureKeys(), words);
      if (!Array.isArray(reply) || performance.now() > until) throw new StoreError(NO_REPLY);
      const [payerHigh, payerLow, high, low, ...due] = reply.map(String);
      // Nothing: it has removed many entries that have ended, and there are more.
      if (payerHigh === undefined || payerLow === undefined || high === undefined || low === undefined) continue;
      return { payer: joined(payerHigh, payerLow), total: joined(high, low), due };
    }
  }

  async #removeExposure({ identity }: Pick<ExposureEntry, "identity">): Promise<void> {
    await this.#run(REMOVE_EXPOSURE, this.#exposureKeys(), [identity]);
  }

  #keptKeys(): readonly string[] {
    return [...["order", "ends", "sizes"].map((name) => this.#key("a", name)), this.#key("p", "")];
  }

  #exposureKeys(): readonly string[] {
    return ["entries", "ends", "sums", "due"].map((name) => this.#key("x", name));
  }

  /** The response to a question that some servers refuse: `""` then. */
  async #ask(words: readonly string[]): Promise<string> {
    try {
      return String(await this.#send(words, this.#base));
    } catch (error) {
      if (isRefusal(error)) return "";
      throw explained(error);
    }
  }

  /** Names and values by turns; a client may return them as an object or a map. */
  async #askList(words: readonly string[]): Promise<readonly string[] | undefined> {
    try {
      const reply = await this.#send(words, this.#base);
      if (Array.isArray(reply)) return reply.map(String);
      const entries = reply instanceof Map ? [...reply] : Object.entries(Object(reply));
      return entries.flat().map(String);
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw explained(error);
    }
  }

  async #run(
    script: Script,
    keys: readonly string[],
    words: readonly string[],
    onLate?: (reply: unknown) => void,
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...words];
    const key = keys[0] ?? this.#base;
    try {
      return await this.#send(["EVALSHA", script.sha, ...rest], key, onLate);
    } catch (error) {
      if (!textOf(error).startsWith("NOSCRIPT")) throw explained(error);
    }
    // The server was started or its scripts were removed since.
    try {
      return await this.#send(["EVAL", script.text, ...rest], key, onLate);
    } catch (error) {
      throw explained(error);
    }
  }

  #send(words: readonly string[], key: string, onLate?: (reply: unknown) => void): Promise<unknown> {
    const timeout = new AbortController();
    const sent = this.#commands.send(words, key, timeout.signal);
    const onTimeout = () => timeout.abort();
    return withinLimit(sent, { limitMs: this.#limitMs, server: "Redis", onTimeout, ...(onLate && { onLate }) });
  }

  #key(...parts: readonly string[]): string {
    return [this.#base, ...parts].join(":");
  }
}

const NO_REPLY =
  "Redis: the client does not pass on what a script returned: sendCommand must resolve to the server's reply";

/** Where the two parts of a sum of exposure are parted. */
const LOW_PART = 1_000_000_000n;

function joined(high: string, low: string): string {
  return String(BigInt(high) * LOW_PART + BigInt(low));
}

function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

/** Managed servers refuse to tell their settings. */
function isRefusal(error: unknown): boolean {
  return /^(NOPERM|ERR (unknown|command|CONFIG))|not (allowed|permitted)|disabled/i.test(textOf(error));
}

/** Without a `cause`: the error of a client may hold the command, and so the payment. */
function explained(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(`the Redis server or its client refused a call: ${adviceFor(textOf(error))}`);
}
