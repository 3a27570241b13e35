/**
 * `farebox ledger reconcile`: the ledger of random payments agrees with the chain, and each forgery is found.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { readDraws } from "../../draws.js";
import { runFarebox } from "../run-farebox.js";
import { type Books, NETWORK, openBooks, PAYEE } from "./books.js";

/** A thousand where `pnpm test:long` has a minute for each test. */
const SALES = Number(process.env["FAREBOX_SECONDS"] ?? 0) < 60 ? 60 : 1_000;
const AT_ONCE = 10;

let books: Books;
beforeAll(async () => {
  books = await openBooks();
  const [seed = 1] = readDraws("payments to reconcile").seeds();
  const amounts = drawAmounts(seed);
  const left = amounts.map((amount, at) => [amount, at] as const);
  const buyNext = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [amount, at] = next;
      // Every tenth is paid by use.
      expect(await books.buy(at % 10 === 0 ? 0n : amount, at)).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, buyNext));
}, 240_000);
afterAll(() => books.close());

async function reconcile(...options: string[]) {
  const { code, out } = await runFarebox([
    "ledger",
    "reconcile",
    "--store",
    books.store,
    "--rpc",
    books.rpc,
    "--json",
    ...options,
  ]);
  return { code, ...JSON.parse(out) };
}

/** From 1 to 50,000 atomic units, as a seed says: a linear congruential generator. */
function drawAmounts(seed: number): readonly bigint[] {
  let state = BigInt(seed);
  return Array.from({ length: SALES }, () => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2n ** 64n;
    return 1n + ((state >> 33n) % 50_000n);
  });
}

/** What does not agree. */
async function differences() {
  const { code, networks } = await reconcile();
  expect(code).toBe(networks[0].discrepancies.length === 0 ? 0 : 1);
  return networks[0].discrepancies as readonly {
    readonly kind: string;
    readonly message: string;
    readonly entry?: { readonly id: string };
  }[];
}

test("random payments agree with the chain", async () => {
  expect(await reconcile()).toEqual({
    code: 0,
    agrees: true,
    networks: [{ network: "eip155:84532", matched: SALES, discrepancies: [] }],
    unchecked: [],
  });
});

test("the sums of the report are what the payee has", async () => {
  const { out } = await runFarebox(["ledger", "report", "--store", books.store, "--by", "network", "--json"]);
  const [group] = JSON.parse(out).groups;
  expect(group).toMatchObject({ name: "eip155:84532", sales: SALES });
  expect(group.assets[0].amount).toBe(String(await books.chain.balanceOf(PAYEE)));
});

test("finds each of several forgeries, and nothing else", async () => {
  const added = (id: string, position: number, transaction: string) =>
    `INSERT INTO farebox_ledger (id, settled_at_ms, route, resource, payer, payee, scheme, network, asset, decimals, amount, transaction_id, latency_ms, attempt)
      SELECT '${id.repeat(32)}', settled_at_ms, route, resource, payer, payee, scheme, network, asset, decimals, amount, ${transaction}, latency_ms, attempt FROM farebox_ledger WHERE position = ${position}`;
  const removed = (id: string) => `DELETE FROM farebox_ledger WHERE id = '${id.repeat(32)}'`;
  const set = (position: number, change: string) => `UPDATE farebox_ledger SET ${change} WHERE position = ${position}`;
  const forgeries: readonly (readonly [found: string, forge: string, undo: string])[] = [
    ["differs: the amount is", set(17, "amount = '7' || amount"), set(17, "amount = substr(amount, 2)")],
    ["differs: the payee is", set(18, `payee = '0x${"0".repeat(38)}aa'`), set(18, `payee = '${PAYEE}'`)],
    ["missing", added("e", 19, "'0x' || substr('deadbeef' || transaction_id, 1, 64)"), removed("e")],
    ["repeated", added("f", 20, "transaction_id"), removed("f")],
    ["unrecorded", set(21, "position = -21, network = 'eip155:1'"), set(-21, `position = 21, network = '${NETWORK}'`)],
    [
      "differs: the payer is",
      set(22, `facilitator = payer, payer = '0x${"0".repeat(38)}bb'`),
      set(22, "payer = facilitator"),
    ],
  ];
  for (const [, forge] of forgeries) books.forge(forge);
  const found = (await differences()).map(({ kind, message }) => `${kind}: ${message}`);
  for (const [, , undo] of forgeries) books.forge(undo);
  for (const [each] of forgeries) {
    expect(
      found.filter((one) => one.startsWith(each)),
      `${each} of ${found.join("\n")}`,
    ).toHaveLength(1);
  }
  expect(found).toHaveLength(forgeries.length);
  expect(await differences()).toEqual([]);
});

test("finds money that came by another way", async () => {
  await books.chain.fund(PAYEE, { usdc: 5n });
  const found = await differences();
  expect(found).toMatchObject([{ kind: "unrecorded", message: expect.stringContaining("0.000005 USDC") }]);
  const { out, code } = await runFarebox(["ledger", "reconcile", "--store", books.store, "--rpc", books.rpc]);
  expect(code).toBe(1);
  expect(out).toMatch(/^unrecorded transaction 0x\w{64}\n {2}no entry has this transfer of 0\.000005 USDC/);
  expect(out).toContain(`eip155:84532: ${SALES} entries found on the chain, 1 difference\n`);
});

test("an entry of a network without a node is told", async () => {
  books.forge("UPDATE farebox_ledger SET network = 'eip155:8453' WHERE position = 30");
  const { code, unchecked } = await reconcile();
  books.forge("UPDATE farebox_ledger SET network = 'eip155:84532' WHERE position = 30");
  expect(code).toBe(1);
  expect(unchecked).toEqual([{ network: "eip155:8453", entries: 1 }]);
});

test("a node of another chain is refused", async () => {
  const { code, err } = await runFarebox([
    "ledger",
    "reconcile",
    "--store",
    books.store,
    "--rpc",
    `eip155:1=${books.chain.rpcUrl}`,
    "--payee",
    PAYEE,
  ]);
  expect(code).toBe(1);
  expect(err).toBe("");
  books.forge("UPDATE farebox_ledger SET network = 'eip155:1' WHERE position = 31");
  const wrong = await runFarebox([
    "ledger",
    "reconcile",
    "--store",
    books.store,
    "--rpc",
    `eip155:1=${books.chain.rpcUrl}`,
  ]);
  books.forge("UPDATE farebox_ledger SET network = 'eip155:84532' WHERE position = 31");
  expect(wrong.err).toMatch(/the node for eip155:1 is of eip155:84532\n.+\[FAREBOX_CLI_NODE]/);
});

test.each([
  [["--rpc", "eip155:1=http://x", "--since", "yesterday"], /--since is no time/],
  [[], /no node is named/],
  [["--rpc", "http://x"], /--rpc is a network and a URL/],
])("refuses %j", async (args, message) => {
  const { code, err } = await runFarebox(["ledger", "reconcile", "--store", books.store, ...args]);
  expect(code).toBe(2);
  expect(err).toMatch(message);
});
