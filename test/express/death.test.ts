/**
 * Real processes that are killed at each step of a payment, one after another. The same payment sent again to another process
 * gets its response within ten seconds: the other process's clock is ten seconds ahead.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createMemoryStore, type Owned, type PaymentRecord, type PaymentStore } from "@farebox/core";
import { createPayer, pay } from "@farebox/testing";
import { test } from "vitest";
import { openLedger } from "../faults/bank.js";

const SCRIPT = fileURLToPath(new URL("death-seller.mjs", import.meta.url));

interface Question {
  readonly id: number;
  readonly method: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the process asks of the store
  readonly args: readonly any[];
}

/** A store in this process, whose leases are renewed. */
function createStore(): PaymentStore {
  const memory = createMemoryStore();
  const renewed = new Map<string, number>();
  const withLease = (record: PaymentRecord): PaymentRecord => {
    const untilMs = renewed.get(record.owner);
    return untilMs === undefined || record.leaseUntilMs === undefined ? record : { ...record, leaseUntilMs: untilMs };
  };
  return {
    async claim(request) {
      const claimed = await memory.claim(request);
      return claimed.kind === "taken" ? { kind: "taken", record: withLease(claimed.record) } : claimed;
    },
    async find(identity) {
      const record = await memory.find(identity);
      return record && withLease(record);
    },
    transition(change) {
      renewed.delete(change.newOwner ?? change.owner);
      return memory.transition(change);
    },
    release: (identity, owner) => memory.release(identity, owner),
    async *unfinished() {
      for await (const record of memory.unfinished()) yield withLease(record);
    },
    renew(owned: readonly Owned[], untilMs) {
      for (const { owner } of owned) renewed.set(owner, untilMs);
    },
  };
}

/** What a process asks when it is killed, before it gets a response. */
type Moment = (question: Question) => boolean;

const changes =
  (to: string): Moment =>
  ({ method, args: [change] }) =>
    method === "transition" && change.to === to;
const asks =
  (wanted: string): Moment =>
  ({ method }) =>
    method === wanted;

async function startSeller(store: PaymentStore, given: object, runs: string[], dies: Moment = () => false) {
  const child: ChildProcess = fork(SCRIPT, [JSON.stringify(given)], { serialization: "advanced" });
  const ended = once(child, "exit");
  const port = await new Promise<number>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the seller ended with ${code}`)));
    child.on("message", async (message) => {
      const question = message as Question;
      const { id, method, args } = question;
      if (method === "run") runs.push(args[0]);
      if (method === "listening") resolve(args[0]);
      const done = await carryOut(store, question).then(
        (result) => ({ id, result }),
        (error: unknown) => ({ id, problem: String(error) }),
      );
      if (dies(question)) child.kill("SIGKILL");
      // It may have died meanwhile.
      else if (child.connected) child.send(done, () => {});
    });
  });
  return { url: `http://127.0.0.1:${port}`, ended, child };
}

async function carryOut(store: PaymentStore, { method, args }: Question): Promise<unknown> {
  if (method === "unfinished") {
    const records: PaymentRecord[] = [];
    for await (const record of store.unfinished()) records.push(record);
    return records;
  }
  const work: unknown = Reflect.get(store, method);
  return typeof work === "function" ? await Reflect.apply(work, store, args) : undefined;
}

type Case = readonly [when: string, settle: "after" | "before", dies: Moment, runs: readonly string[]];

const CASES: readonly Case[] = [
  ["after the claim", "after", asks("claim"), ["second"]],
  ["in the handler", "after", asks("run"), ["first", "second"]],
  ["before the settlement", "after", changes("settling"), ["first"]],
  ["after the settlement, before the delivery", "after", changes("settled"), ["first"]],
  ["after the claim, settled first", "before", asks("claim"), ["second"]],
  ["before a settlement that comes first", "before", changes("settling"), ["second"]],
  ["before a prepaid handler", "before", changes("settled"), ["second"]],
  ["in a prepaid handler", "before", asks("run"), ["first", "second"]],
];

test.concurrent.for(CASES)(
  "a payment whose process is killed %s is served by another process within 10 s, for one settlement",
  { timeout: 180_000 },
  async ([_when, settle, dies, expected], { expect, onTestFinished }) => {
    const bank = await openLedger();
    onTestFinished(() => bank.close());
    const [payer, { address: payTo }] = [createPayer(), createPayer()];
    await bank.fund(payer.address, 1_000_000n);
    const store = createStore();
    const runs: string[] = [];
    const given = { facilitator: bank.server.url, payTo, settle };
    const [first, second] = await Promise.all([
      startSeller(store, { ...given, name: "first" }, runs, dies),
      startSeller(store, { ...given, name: "second", aheadMs: 10_000 }, runs),
    ]);
    onTestFinished(async () => {
      for (const { child } of [first, second]) child.kill("SIGKILL");
      await Promise.all([first.ended, second.ended]);
    });
    const { challenge } = await pay(first.url, { path: "/paid" });
    const offer = challenge?.accepts[0];
    if (challenge === undefined || offer === undefined) throw new TypeError("it is free");
    const payment = await payer.signExact(offer, { challenge });
    await expect(pay(first.url, { path: "/paid", payment })).rejects.toThrow();
    await first.ended;

    let response = await pay(second.url, { path: "/paid", payment });
    while (response.status === 409 || response.status === 503) {
      response = await pay(second.url, { path: "/paid", payment });
    }
    expect([response.status, response.receipt?.success]).toEqual([200, true]);
    expect(runs).toEqual(expected);
    expect(bank.ledger.transfers).toHaveLength(1);
  },
);
