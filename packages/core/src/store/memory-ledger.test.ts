import { expect, test } from "vitest";
import { type KeptSale, MemoryLedger } from "./memory-ledger.js";
import type { NewLedgerEntry } from "./shared-ledger.js";

function entry(id: string): NewLedgerEntry {
  return {
    ...{ id, settledAtMs: 1, route: "GET /a", payee: "b", scheme: "exact", network: "eip155:84532", asset: "c" },
    ...{ amount: "1", payer: "d", transaction: "e", latencyMs: 0, attempt: 1 },
  };
}

/** A sale, and how often its entry was made. */
function sale(id: string): KeptSale & { readonly made: () => number } {
  let made = 0;
  return {
    routeKey: "GET /a",
    isPaid: true,
    toEntry() {
      made += 1;
      return entry(id);
    },
    made: () => made,
  };
}

const idsIn = (ledger: MemoryLedger) => ledger.list({ limit: 100 }).map(({ id, position }) => `${id} ${position}`);

test("the entry of a sale is made when somebody looks, and once", () => {
  const [ledger, sold] = [new MemoryLedger(), sale("1")];
  ledger.keep(sold);
  expect(sold.made()).toBe(0);
  expect([ledger.size, ledger.find("1")?.status, sold.made()]).toEqual([1, "settled", 1]);
});

test("entries stand in the order in which they were sold, whenever they were made", () => {
  const ledger = new MemoryLedger();
  ledger.keep(sale("1"));
  ledger.add(entry("2"));
  ledger.keep(sale("3"));
  ledger.keep(sale("1"));
  expect(ledger.hold({ name: "n", owner: "o", nowMs: 0, untilMs: 1, from: "now" })).toBe("3");
  ledger.keep(sale("4"));
  expect(idsIn(ledger)).toEqual(["1 1", "2 2", "3 3", "4 4"]);
});

test.each([
  [0, []],
  [1, ["7 1"]],
  [3, ["5 1", "6 2", "7 3"]],
])("of more sales than the %d that it keeps, the oldest are forgotten", (most, left) => {
  const ledger = new MemoryLedger(most);
  for (let at = 1; at <= 7; at++) ledger.keep(sale(`${at}`));
  expect(idsIn(ledger)).toEqual(left);
});
