/**
 * `farebox ledger report`, `export`, `mark` and `refund`.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { LedgerEntry } from "@farebox/core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runFarebox } from "../run-farebox.js";
import { type Books, openBooks, PAYEE, PAYEE_KEY } from "./books.js";

let books: Books;
beforeAll(async () => {
  books = await openBooks();
  for (const [amount, payer] of [
    [10_000n, 0],
    [2_500n, 1],
    [1n, 1],
    [0n, 2],
    [30_000n, 3],
    [40_000n, 4],
    [50_000n, 4],
  ] as const) {
    expect(await books.buy(amount, payer)).toBe(200);
  }
  // Signed for more than the payer has.
  expect(await books.buy(2_000_000_000n, 0)).toBe(402);
}, 60_000);
afterAll(() => books.close());

function ledger(...args: string[]) {
  return runFarebox(["ledger", ...args, "--store", books.store]);
}

async function entriesOf(): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const entry of books.payments.ledger.entries()) entries.push(entry);
  return entries;
}

describe("report", () => {
  test("by route has sales, refusals and exact amounts", async () => {
    const { code, out, err } = await ledger("report");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(
      out
        .split("\n")
        .slice(0, 3)
        .map((line) => line.replaceAll(/ {2,}/g, " | ")),
    ).toEqual([
      "route | sales | refused | uncharged | amount | refunded",
      "GET /by-use | 1 | 0 | 0 | 0.004321 USDC",
      "GET /items/:amount | 6 | 1 | 0 | 0.132501 USDC",
    ]);
  });

  test.each([
    ["payer", 5],
    ["network", 1],
  ])("by %s has %d lines", async (by, lines) => {
    const { out } = await ledger("report", "--by", by, "--json");
    expect(JSON.parse(out).groups).toHaveLength(lines);
  });

  test("by day has a line for each day", async () => {
    const days = (await entriesOf()).map(({ settledAtMs }) => new Date(settledAtMs).toISOString().slice(0, 10));
    const { out } = await ledger("report", "--by", "day", "--json");
    expect(
      JSON.parse(out)
        .groups.map(({ name }: { readonly name: string }) => name)
        .sort(),
    ).toEqual([...new Set(days)].sort());
  });

  test("of no time has no lines", async () => {
    expect((await ledger("report", "--until", "2020-01-01")).out).toBe("The ledger has no entry of that time.\n");
  });
});

describe("export", () => {
  test("as CSV has decimals, UTC and no formulas", async () => {
    const file = join(books.folder, "out.csv");
    const { code, out } = await ledger("export", "--out", file);
    expect({ code, out }).toEqual({ code: 0, out: "" });
    const [header, first, ...rest] = readFileSync(file, "utf8").trimEnd().split("\r\n");
    expect(rest).toHaveLength(6);
    const columns = header!.split(",");
    const cells = Object.fromEntries(first!.split(",").map((cell, at) => [columns[at], cell]));
    expect(cells).toMatchObject({
      amount: "0.01",
      amount_atomic: "10000",
      symbol: "USDC",
      decimals: "6",
      status: "settled",
      payee: PAYEE,
      refunded: "0",
    });
    expect(cells["settled_at_utc"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    books.forge(`UPDATE farebox_ledger SET route = '=HYPERLINK("http://x","a,b")' WHERE position = 1`);
    onTestFinished(() => books.forge("UPDATE farebox_ledger SET route = 'GET /items/:amount' WHERE position = 1"));
    expect((await ledger("export")).out).toContain(`"'=HYPERLINK(""http://x"",""a,b"")"`);
  });

  test("as JSON lines has one object a line", async () => {
    const { out } = await ledger("export", "--format", "jsonl");
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ amount }) => amount)).toEqual([
      "0.01",
      "0.0025",
      "0.000001",
      "0.004321",
      "0.03",
      "0.04",
      "0.05",
    ]);
    expect(lines[3]).toMatchObject({ scheme: "upto", maximum_atomic: "10000" });
  });
});

describe("mark", () => {
  test("writes down parts, each transaction once, and never more than was paid", async () => {
    const { id } = (await entriesOf())[0]!;
    expect((await ledger("mark", id, "--transaction", "0xaa", "--amount", "4000")).out).toMatch(
      /0\.004 USDC given back, settled\n$/,
    );
    expect((await ledger("mark", id, "--transaction", "0xaa", "--amount", "4000")).out).toMatch(
      /0\.004 USDC given back, settled\n$/,
    );
    expect(await ledger("mark", id, "--transaction", "0xbb", "--amount", "6001")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/6000 of 10000 can still be given back/),
    });
    expect((await ledger("mark", id, "--transaction", "0xbb")).out).toMatch(/0\.01 USDC given back, refunded\n$/);
    expect((await ledger("report")).out).toMatch(/0\.01 USDC\n/);
    expect(await ledger("mark", "f".repeat(32), "--transaction", "0xbb")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/there is no such entry/),
    });
  });
});

describe("refund", () => {
  const refund = (id: string, key: string, ...options: string[]) =>
    runFarebox(["ledger", "refund", id, "--store", books.store, "--rpc", books.rpc, ...options], {
      env: { FAREBOX_REFUND_KEY: key },
    });

  test("shows the transfer, and sends it with --yes, once", async () => {
    await books.chain.fund(PAYEE, { eth: 10n ** 18n });
    const { id, payer, amount } = (await entriesOf())[4]!;
    const before = await books.chain.balanceOf(payer as `0x${string}`);
    const shown = await refund(id, PAYEE_KEY);
    expect(shown).toMatchObject({ code: 0, out: "Nothing was sent. Add --yes to send it.\n" });
    expect(shown.err).toMatch(/amount {3}0\.03 USDC\n.+network .+\n.+from .+\n.+to {7}0x/);
    expect(await books.chain.balanceOf(payer as `0x${string}`)).toBe(before);
    const sent = await refund(id, PAYEE_KEY, "--yes");
    expect(sent).toMatchObject({ code: 0, out: expect.stringMatching(/^0\.03 USDC given back by 0x\w{64}\n$/) });
    expect(sent.out + sent.err).not.toContain(PAYEE_KEY.slice(2, 20));
    expect(await books.chain.balanceOf(payer as `0x${string}`)).toBe(before + BigInt(amount));
    expect(await books.payments.ledger.get(id)).toMatchObject({ status: "refunded" });
    expect(await refund(id, PAYEE_KEY, "--yes")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/was given back already/),
    });
    expect(await books.chain.balanceOf(payer as `0x${string}`)).toBe(before + BigInt(amount));
  });

  test("that was interrupted sends the same transaction", async () => {
    const { id, payer, amount } = (await entriesOf())[5]!;
    const before = await books.chain.balanceOf(payer as `0x${string}`);
    await books.chain.pauseMining();
    let interrupt: () => void = () => {};
    let tellSaved: () => void = () => {};
    const saved = new Promise<void>((resolve) => {
      tellSaved = resolve;
    });
    const first = runFarebox(["ledger", "refund", id, "--store", books.store, "--rpc", books.rpc, "--yes"], {
      env: { FAREBOX_REFUND_KEY: PAYEE_KEY },
      onError: (text) => /^ {2}sending /.test(text) && tellSaved(),
      onInterruptible(each) {
        interrupt = each;
      },
    });
    const file = resolve(`farebox-refund-${id}.json`);
    onTestFinished(() => rmSync(file, { force: true }));
    // If it ends instead, its result says why.
    await Promise.race([saved, first]);
    expect(existsSync(file)).toBe(true);
    interrupt();
    expect(await first).toMatchObject({ code: 1, err: expect.stringMatching(/FAREBOX_CLI_UNKNOWN_OUTCOME/) });
    const { transaction } = JSON.parse(readFileSync(file, "utf8"));
    await books.chain.resumeMining();
    const second = await refund(id, "", "--yes");
    expect(second).toMatchObject({ code: 0, out: expect.stringContaining(transaction) });
    expect(existsSync(file)).toBe(false);
    expect(await books.chain.balanceOf(payer as `0x${string}`)).toBe(before + BigInt(amount));
  });

  test.each([
    ["no key", "", [], /FAREBOX_REFUND_KEY is not set/],
    ["a key that is none", "0x12", [], /FAREBOX_REFUND_KEY is no key of an EVM account/],
    ["more than is left", PAYEE_KEY, ["--amount", "50001"], /50000 atomic units can still be given back/],
    ["an amount that is none", PAYEE_KEY, ["--amount", "0.5"], /--amount is a whole number/],
    ["an address that is none", PAYEE_KEY, ["--to", "bob"], /this is no address/],
    ["an account without money", `0x${"1".repeat(64)}`, ["--yes"], /has 0 atomic units of the asset/],
  ])("with %s sends nothing", async (_what, key, options, message) => {
    const { id } = (await entriesOf())[6]!;
    const { code, out, err } = await refund(id, key, ...options);
    expect(code).toBeGreaterThan(0);
    expect(out).toBe("");
    expect(err).toMatch(message);
    expect(await books.payments.ledger.get(id)).toMatchObject({ refunds: [] });
  });

  test("that is called several times at once gives back once", async () => {
    const { id, payer, amount } = (await entriesOf())[6]!;
    // Enough for two refunds.
    await books.chain.fund(PAYEE, { usdc: 1_000_000n });
    const before = await books.chain.balanceOf(payer as `0x${string}`);
    const calls = await Promise.all(Array.from({ length: 4 }, () => refund(id, PAYEE_KEY, "--yes")));
    expect(await books.chain.balanceOf(payer as `0x${string}`)).toBe(before + BigInt(amount));
    expect(calls.some(({ code }) => code === 0)).toBe(true);
    for (const { code, err } of calls.filter((call) => call.code !== 0)) {
      expect([code, err]).toEqual([1, expect.stringMatching(/right now|given back already|refuses it/)]);
    }
    expect(await books.payments.ledger.get(id)).toMatchObject({ status: "refunded", refunds: [{ amount }] });
    expect(existsSync(resolve(`farebox-refund-${id}.json`))).toBe(false);
  });

  test("of an erased payer needs --to", async () => {
    const { id, payer } = (await entriesOf())[2]!;
    await books.payments.ledger.erase(payer!);
    expect((await refund(id, PAYEE_KEY)).err).toMatch(/does not know the payer's address any more\n.+--to/);
    expect((await refund(id, PAYEE_KEY, "--to", payer!)).code).toBe(0);
  });
});

describe("a store", () => {
  test.each([
    ["sqlite:none.db", /there is no database "none\.db"/],
    ["mysql://x", /--store is of no kind that is known/],
    ["redis://127.0.0.1:2", /Redis cannot be reached/],
    ["postgres://127.0.0.1:2/x", /the ledger cannot be read/],
  ])("%s is refused", async (store, message) => {
    const { code, err } = await runFarebox(["ledger", "report", "--store", store]);
    expect(code).toBeGreaterThan(0);
    expect(err).toMatch(message);
  });

  test("that is no database of a seller is refused", async () => {
    const file = join(books.folder, "text.db");
    writeFileSync(file, "this is a text and no database at all, but it is long enough");
    expect(await runFarebox(["ledger", "report", "--store", `sqlite:${file}`])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/FAREBOX_CLI_LEDGER/),
    });
  });

  test("is named by the environment, too", async () => {
    expect((await runFarebox(["ledger", "report"], { env: { FAREBOX_STORE: books.store } })).code).toBe(0);
    expect((await runFarebox(["ledger", "report"])).err).toMatch(/no store is named/);
  });
});
