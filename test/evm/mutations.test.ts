/**
 * Every field of a payment on EVM, changed one at a time, sent to a seller whose facilitator is on a real chain. The seller
 * refuses with a reason of the protocol, and no money moves. In the end each payment settles unchanged.
 */
import type { PaymentPayload, PaymentRequirements } from "@farebox/core";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { paymentMiddleware } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import { anvilAccounts, createPayer, type LocalChain, pay } from "@farebox/testing";
import express from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isKnownReason } from "../facilitator/reasons.js";
import { PATIENT } from "../facilitator/stage.js";
import { listen, PATIENT_SELLER, type Running } from "../interop/servers.js";
import { borrowChain } from "../worker-chain.js";

type Json = Record<string, unknown>;

interface Way {
  readonly name: string;
  readonly scheme: "exact" | "upto";
  readonly method: "eip3009" | "permit2";
}

const WAYS: readonly Way[] = [
  { name: "exact by EIP-3009", scheme: "exact", method: "eip3009" },
  { name: "exact by Permit2", scheme: "exact", method: "permit2" },
  { name: "upto", scheme: "upto", method: "permit2" },
];

const OTHER = "0x000000000000000000000000000000000000dEaD";
const AMOUNT = 1_000n;
const PURSE = 1_000_000n;

let chain: LocalChain;
let facilitator: ReturnType<typeof createFacilitator>;
const running: Running[] = [];

beforeAll(async () => {
  chain = await borrowChain();
  const { network, rpcUrl } = chain;
  const rpc = createRpcChain({ network, rpcUrl, privateKey: anvilAccounts[0]!.privateKey, ...PATIENT });
  facilitator = createFacilitator({
    schemes: [createExactEvmScheme({ chain: rpc }), createUptoEvmScheme({ chain: rpc })],
  });
});

afterAll(async () => {
  for (const server of running) await server.close();
  await chain.close();
});

/** A seller with one way to pay, a payer with the allowance that it needs, and an unused payment. */
async function openSale({ scheme, method }: Way, verifySignatures: boolean) {
  const payer = createPayer();
  await chain.fund(payer.address, { usdc: PURSE });
  await chain.approvePermit2(payer.address);
  let runs = 0;
  const payTo = createPayer().address;
  const price = { asset: chain.asset, amount: String(AMOUNT), extra: { assetTransferMethod: method } };
  const accepts = { scheme, network: chain.network, price, payTo } as const;
  const app = express();
  app.set("env", "test");
  app.use(paymentMiddleware({ "GET /paid": { accepts } }, { facilitator, verifySignatures, ...PATIENT_SELLER }));
  app.get("/paid", (_req, res) => {
    runs += 1;
    res.json({ paid: true });
  });
  const server = await listen(app);
  running.push(server);
  const send = (payment: unknown) =>
    pay(server.url, { path: "/paid", payment: Buffer.from(JSON.stringify(payment)).toString("base64") });
  const { challenge } = await pay(server.url, { path: "/paid" });
  const [offer] = challenge?.accepts ?? [];
  if (offer === undefined || challenge === undefined) throw new Error("nothing is on offer");
  const signed = await (scheme === "exact"
    ? payer.signExact(offer, { challenge })
    : payer.signUpto(offer, { challenge }));
  // The protocol accepts an amount by its older name in place of a removed one.
  const { maxAmountRequired: _, ...accepted } = signed.accepted;
  const payment = { ...signed, accepted };
  return { send, payment, runs: () => runs, moved: async () => PURSE - (await chain.balanceOf(payer.address)) };
}

/** Fields of the payment itself, which must not change. */
const ACCEPTED: readonly (keyof PaymentRequirements)[] = ["scheme", "network", "amount", "asset", "payTo"];

function pathsOf({ payload }: PaymentPayload): readonly (readonly string[])[] {
  return [
    ...["x402Version", "accepted", "payload"].map((key) => [key]),
    ...ACCEPTED.map((key) => ["accepted", key]),
    ...below(["payload"], payload as Json),
  ];
}

function below(path: readonly string[], value: Json): (readonly string[])[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = [...path, key];
    return typeof inner === "object" && inner !== null ? [at, ...below(at, inner as Json)] : [at];
  });
}

interface Mutation {
  readonly kind: "missing" | "another type" | "misspelt" | "at the border" | "another's";
  readonly value: unknown;
}

const MISSING = Symbol("missing");

const of = (kind: Mutation["kind"], values: readonly unknown[]): Mutation[] => values.map((value) => ({ kind, value }));

/** Every change of one value, by its kind. Each differs from the value. */
function mutationsOf(value: unknown): readonly Mutation[] {
  const wrongTypes = [null, true, [], [value], { value }, -1, 1.5, ""];
  const common = [...of("missing", [MISSING]), ...of("another type", wrongTypes)];
  if (typeof value === "object") return [...common, ...of("another type", [{}, "x"])];
  if (typeof value === "number") return [...common, ...of("at the border", [value - 1, value + 1, String(value)])];
  const text = String(value);
  const misspelt = [` ${text}`, `${text}\n`, `${text}0`, text.slice(0, -1), `${text}x`, text.replace("0x", "")];
  return [
    ...common,
    ...of(
      "misspelt",
      misspelt.filter((other) => other !== text),
    ),
    ...bordersOf(text),
    ...othersFor(text),
  ];
}

function bordersOf(text: string): readonly Mutation[] {
  if (!/^\d+$/.test(text)) return [];
  const number = BigInt(text);
  const near = [number + 1n, ...(number > 0n ? [number - 1n] : []), 2n ** 256n, 2n ** 256n - 1n].map(String);
  return of("at the border", [
    ...near,
    Number(text),
    `0${text}`,
    `+${text}`,
    `${text}.0`,
    `0x${number.toString(16)}`,
    "1e3",
  ]);
}

/** Values that would be valid on another chain, for another token, by another scheme, or for another account. */
function othersFor(text: string): readonly Mutation[] {
  if (text.startsWith("eip155:"))
    return of("another's", ["eip155:8453", "eip155:084532", "eip155:*", SOLANA, ALGORAND]);
  if (text === "exact" || text === "upto")
    return of(
      "another's",
      ["exact", "upto", "Exact"].filter((one) => one !== text),
    );
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) {
    return of("another's", [OTHER, `0x${"0".repeat(40)}`, "So11111111111111111111111111111111111111112", "10458941"]);
  }
  if (text.startsWith("0x")) return of("another's", [`0x${"1".repeat(text.length - 2)}`, text.replace(/.$/, flip)]);
  return [];
}

const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const ALGORAND = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe";
const flip = (digit: string) => (digit === "1" ? "2" : "1");

function change(payment: PaymentPayload, path: readonly string[], value: unknown): unknown {
  const copy: Json = JSON.parse(JSON.stringify(payment));
  const parent = path.slice(0, -1).reduce((at, key) => at[key] as Json, copy);
  const last = path.at(-1)!;
  if (value === MISSING) delete parent[last];
  else parent[last] = value;
  return copy;
}

const valueAt = (payment: PaymentPayload, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, key) => (value as Json)[key], payment);

/** A nonce in hexadecimal is the same number: the specification writes it in both ways. */
const isSame = (path: readonly string[], value: unknown) =>
  path.at(-1) === "nonce" && typeof value === "string" && /^0x[0-9a-f]{64}$/.test(value);

describe.each(WAYS)("$name", (way) => {
  test.each([
    { where: "facilitator", verifySignatures: false, least: 200 },
    { where: "seller", verifySignatures: true, least: 40 },
  ])("any changed field is refused, with signatures checked by the $where", async ({ verifySignatures, least }) => {
    const { send, payment, runs, moved } = await openSale(way, verifySignatures);
    const kinds = new Set<string>();
    let count = 0;
    for (const path of pathsOf(payment)) {
      for (const { kind, value } of mutationsOf(valueAt(payment, path))) {
        // Fields of a wrong form, and those that nobody signs, are refused before anybody checks a signature.
        if (verifySignatures && (path[0] !== "payload" || isMalformed(kind))) continue;
        if (way.method === "permit2" && isSame(path, value)) continue;
        const what = `${path.join(".")} ${kind}: ${String(JSON.stringify(value)).slice(0, 100)}`;
        const { status, challenge } = await send(change(payment, path, value));
        expect([400, 402], what).toContain(status);
        expect(isKnownReason(challenge?.error?.split(":")[0]), `${what}: ${challenge?.error}`).toBe(true);
        kinds.add(kind);
        count += 1;
      }
    }
    expect(kinds.size).toBe(verifySignatures ? 2 : 5);
    expect(count).toBeGreaterThan(least);
    expect([runs(), await moved()]).toEqual([0, 0n]);
    expect((await send(payment)).status).toBe(200);
    expect([runs(), await moved()]).toEqual([1, AMOUNT]);
  });

  test("an added field changes nothing: the payment settles once, as it was signed", async () => {
    const { send, payment, runs, moved } = await openSale(way, true);
    const extras = [["payload"], ["accepted"], ...pathsOf(payment).filter((path) => isObject(valueAt(payment, path)))];
    const added = extras.reduce<unknown>(
      (at, path) => change(at as PaymentPayload, [...path, "more"], { to: OTHER, amount: "1" }),
      { ...payment, more: { payTo: OTHER } },
    );
    expect((await send(added)).status).toBe(200);
    expect((await send(payment)).status).toBe(402);
    expect([runs(), await moved()]).toEqual([1, AMOUNT]);
  });

  test("the payload of another way to pay is refused", async () => {
    const { send, payment, runs, moved } = await openSale(way, false);
    for (const other of WAYS.filter(({ name }) => name !== way.name)) {
      const foreign = await openSale(other, false);
      const { status, challenge } = await send({ ...payment, payload: foreign.payment.payload });
      expect(status).toBe(402);
      expect(isKnownReason(challenge?.error), challenge?.error).toBe(true);
      expect(await foreign.moved()).toBe(0n);
    }
    expect([runs(), await moved()]).toEqual([0, 0n]);
  });
});

function isMalformed(kind: Mutation["kind"]): boolean {
  return kind === "missing" || kind === "another type" || kind === "misspelt";
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
