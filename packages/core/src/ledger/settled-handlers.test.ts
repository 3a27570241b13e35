import { expect, test } from "vitest";
import { createProcesses } from "../sale/processes.fixture.js";
import { admissionOf, createShop, HANDLED } from "../sale/shop.fixture.js";
import type { LedgerEntry, SharedLedger } from "../store/shared-ledger.js";

type Shop = ReturnType<typeof createShop>;

async function sell(shop: Shop, ...nonces: readonly string[]) {
  for (const nonce of nonces) await admissionOf(await shop.pay({ payload: { nonce } })).complete(HANDLED);
}

/** Lets what is under way get on. */
async function settle() {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

const positionsOf = (entries: readonly LedgerEntry[]) => entries.map(({ position }) => Number(position));

/** Counts timers that wait. */
function watchTimers() {
  let waiting = 0;
  const due: (() => void)[] = [];
  const timer = (act: () => void) => {
    waiting += 1;
    let isOver = false;
    const end = () => {
      if (!isOver) waiting -= 1;
      isOver = true;
    };
    due.push(() => {
      if (isOver) return;
      end();
      act();
    });
    return end;
  };
  return { timer, size: () => waiting, fire: () => due.splice(0).forEach((act) => void act()) };
}

test("a handler gets each entry once, in order, also those from before, and nothing waits afterwards", async () => {
  const { timer, size } = watchTimers();
  const shop = createShop({ timer });
  await sell(shop, "n1", "n2");
  const before = size();
  const seen: LedgerEntry[] = [];
  const remove = shop.engine.ledger.onSettled("books", async (entry) => {
    await new Promise(setImmediate);
    seen.push(entry);
  });
  await settle();
  await sell(shop, "n3");
  await sell(shop, "n4");
  await settle();
  expect(positionsOf(seen)).toEqual([1, 2, 3, 4]);
  expect(size()).toBe(before);
  remove();
  await sell(shop, "n5");
  await settle();
  expect(seen).toHaveLength(4);
});

test("a handler that throws is called again with the same entry, less and less often, and those behind wait", async () => {
  const shop = createShop();
  const calls: string[] = [];
  const failed: unknown[] = [];
  let fails = 4;
  shop.engine.on("hook_failed", ({ hook }) => void failed.push(hook));
  shop.engine.ledger.onSettled("books", ({ position }, { attempt }) => {
    calls.push(`${position} attempt ${attempt} at ${shop.clock.ms % 100_000}`);
    if (fails-- > 0) throw new RangeError("a secret");
  });
  await sell(shop, "n1", "n2");
  for (let second = 0; second < 20; second++) {
    await shop.passTime(1_000);
    await settle();
  }
  expect(calls).toEqual([
    "1 attempt 1 at 0",
    "1 attempt 2 at 1000",
    "1 attempt 3 at 3000",
    "1 attempt 4 at 7000",
    "1 attempt 5 at 15000",
    "2 attempt 1 at 15000",
  ]);
  expect(failed).toEqual(Array.from({ length: 4 }, () => "onSettled books"));
  expect(shop.log.filter(({ event }) => event === "hook_failed")).toMatchObject(
    [1, 2, 3, 4].map((attempt) => ({ fields: { hook: "onSettled books", attempt, error: "RangeError" } })),
  );
  expect(JSON.stringify(shop.log)).not.toContain("secret");
});

test("a handler goes on where it was when its process starts again, with the entry whose call had not ended", async () => {
  const first = createShop();
  const seen: LedgerEntry[] = [];
  first.engine.ledger.onSettled("books", (entry) => {
    seen.push(entry);
    // The process dies in the second call.
    return entry.position === "2" ? new Promise(() => {}) : undefined;
  });
  await sell(first, "n1", "n2", "n3");
  await settle();
  expect(positionsOf(seen)).toEqual([1, 2]);

  const second = createShop({ store: first.store });
  const again: LedgerEntry[] = [];
  second.engine.ledger.onSettled("books", (entry) => void again.push(entry));
  await settle();
  // The dead process has the lease.
  expect(again).toEqual([]);
  for (let turn = 0; turn < 20; turn++) {
    await second.passTime(2_000);
    await settle();
  }
  expect(positionsOf(again)).toEqual([2, 3]);
});

test("of several processes, one at a time calls its handler, and a dead one's entries are passed on by another", async () => {
  const world = createProcesses();
  const [first, second] = [world.open(), world.open()];
  const calls: string[] = [];
  let open = 0;
  const handle = (name: string) => async (entry: LedgerEntry) => {
    expect(++open).toBe(1);
    await new Promise(setImmediate);
    open -= 1;
    calls.push(`${name} ${entry.position}`);
  };
  first.engine.ledger.onSettled("books", handle("first"));
  second.engine.ledger.onSettled("books", handle("second"));
  for (let at = 0; at < 10; at++) await sell(at % 2 === 0 ? first : second, `n${at}`);
  for (let turn = 0; turn < 5; turn++) {
    await world.passTime(2_500);
    await settle();
  }
  expect(calls.map((call) => Number(call.split(" ")[1]))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);

  // A sale of a process that dies before its handler is called.
  await sell(first, "last");
  first.kill();
  for (let turn = 0; turn < 40; turn++) {
    await world.passTime(2_500);
    await settle();
  }
  expect(calls.filter((call) => call.endsWith(" 11")).length).toBeGreaterThanOrEqual(1);
  expect(calls.at(-1)).toMatch(/ 11$/);
});

test("a handler whose store fails goes on when it works again", async () => {
  const shop = createShop();
  const ledger = shop.store.ledger as SharedLedger;
  const hold = ledger.hold.bind(ledger);
  let fails = true;
  Object.assign(ledger, {
    hold(lease: Parameters<SharedLedger["hold"]>[0]) {
      if (fails) throw new RangeError("no connection");
      return hold(lease);
    },
  });
  const seen: LedgerEntry[] = [];
  shop.engine.ledger.onSettled("books", (entry) => void seen.push(entry));
  await sell(shop, "n1");
  await settle();
  expect(shop.log).toMatchObject([{ event: "settled_handler_waits", fields: { handler: "books" } }]);
  fails = false;
  await shop.passTime(2_000);
  await settle();
  expect(positionsOf(seen)).toEqual([1]);
});

test("a handler from now on gets no earlier entry, and later those that it has missed", async () => {
  const shop = createShop();
  await sell(shop, "n1", "n2");
  const seen: LedgerEntry[] = [];
  const handler = (entry: LedgerEntry) => void seen.push(entry);
  const remove = shop.engine.ledger.onSettled("mail", handler, { from: "now" });
  await settle();
  remove();
  await sell(shop, "n3");
  shop.engine.ledger.onSettled("mail", handler, { from: "now" });
  await settle();
  expect(positionsOf(seen)).toEqual([3]);
});

test("close() aborts the signal of a call, and leaves the entry to the next process", async () => {
  const shop = createShop();
  const reasons: boolean[] = [];
  shop.engine.ledger.onSettled("books", (_, { signal }) => {
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        reasons.push(signal.aborted);
        reject(new Error("closed"));
      }),
    );
  });
  await sell(shop, "n1", "n2");
  await settle();
  await shop.engine.close();
  await settle();
  expect(reasons).toEqual([true]);
  const next = createShop({ store: shop.store });
  const seen: LedgerEntry[] = [];
  next.engine.ledger.onSettled("books", (entry) => void seen.push(entry));
  await settle();
  expect(positionsOf(seen)).toEqual([1, 2]);
});

test("a handler that takes longer than a lease keeps it", async () => {
  const world = createProcesses();
  const [first, second] = [world.open(), world.open()];
  const calls: string[] = [];
  let finish = () => {};
  first.engine.ledger.onSettled("books", async () => {
    calls.push("first");
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  await sell(first, "n1");
  await settle();
  second.engine.ledger.onSettled("books", () => void calls.push("second"));
  for (let turn = 0; turn < 40; turn++) {
    await world.passTime(2_500);
    await settle();
  }
  finish();
  await settle();
  await world.passTime(10_000);
  await settle();
  expect(calls).toEqual(["first"]);
});

test.each<[string, unknown[]]>([
  ["name: expected 1 to 64", ["", () => {}]],
  ["name: expected 1 to 64", ["a b", () => {}]],
  ["name: expected another name", ["taken", () => {}]],
  ["handler", ["books", undefined]],
  ["options.from", ["books", () => {}, { from: "end" }]],
  ["options.form", ["books", () => {}, { form: "now" }]],
])("onSettled names %s", (message, args) => {
  const { ledger } = createShop().engine;
  ledger.onSettled("taken", () => {});
  expect(() => Reflect.apply(ledger.onSettled, ledger, args)).toThrow(message);
});
