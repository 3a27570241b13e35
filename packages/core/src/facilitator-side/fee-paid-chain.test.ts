import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createIssues } from "../issues.js";
import {
  CHAIN_TIMES,
  ChainError,
  expectSignature,
  healthOf,
  readChainTimes,
  readSigner,
  SentTransactions,
  type SignerKind,
  untilPassed,
} from "./fee-paid-chain.js";

const FAST = { pollingIntervalMs: 10, confirmTimeoutMs: 60, requestTimeoutMs: 100 };

describe("the times of a chain", () => {
  test("readChainTimes has defaults, with the polling interval of the network", () => {
    const issues = createIssues();
    expect(readChainTimes({}, { usualPollingMs: 500, issues })).toEqual({
      pollingIntervalMs: 500,
      confirmTimeoutMs: 25_000,
      requestTimeoutMs: 5_000,
    });
    expect(readChainTimes(FAST, { usualPollingMs: 500, issues }).confirmTimeoutMs).toBe(25_000);
    expect(issues.found.map(({ path }) => path)).toEqual(["options.confirmTimeoutMs"]);
  });

  test("readChainTimes checks each time", () => {
    const issues = createIssues();
    readChainTimes(
      { pollingIntervalMs: 9, confirmTimeoutMs: "1", requestTimeoutMs: 60_001 },
      { usualPollingMs: 1, issues },
    );
    expect(issues.found.map(({ path }) => path)).toEqual(CHAIN_TIMES.map((name) => `options.${name}`));
  });
});

describe("a signer", () => {
  const signer = { address: "address", sign: async () => new Uint8Array(64) };
  const kind: SignerKind<typeof signer> = {
    fromKey: (key) => (key === "key" ? signer : undefined),
    keyExpected: "a key",
    isAddress: (value) => value === "address",
    method: "sign",
  };

  test.each<[options: object, issue: string | undefined]>([
    [{ privateKey: "key" }, undefined],
    [{ signer }, undefined],
    [{}, "options.privateKey: either privateKey or signer, not neither"],
    [{ privateKey: "key", signer }, "options.privateKey: either privateKey or signer, not both"],
    [{ privateKey: "secret" }, "options.privateKey: a key, not something else"],
    [{ signer: "secret" }, "options.signer: a signer with an address and sign, not something else"],
    [{ signer: { ...signer, address: "x" } }, "options.signer: a signer with an address and sign, not something else"],
    [{ signer: { ...signer, sign: 1 } }, "options.signer: a signer with an address and sign, not something else"],
    [{ signer: { address: "address" } }, "options.signer: a signer with an address and sign, not something else"],
  ])("readSigner reads %j, with the issue %s", (options, issue) => {
    const issues = createIssues();
    expect(readSigner(options, kind, issues)).toBe(issue === undefined ? signer : undefined);
    const found = issues.found.map(({ path, expected, received }) => `${path}: ${expected}, not ${received}`);
    expect(found).toEqual(issue === undefined ? [] : [issue]);
  });

  test("expectSignature refuses every signature but that of the address over the message", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const key = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
    const message = Buffer.from("message");
    const signature = sign(null, message, privateKey);
    expect(await expectSignature(Promise.resolve(new Uint8Array(signature)), key, message)).toEqual(signature);
    for (const [given, by, over] of [
      [Buffer.alloc(64), key, message],
      [signature, Buffer.alloc(32), message],
      [signature, undefined, message],
      [signature, key, Buffer.from("other")],
    ] as const) {
      await expect(expectSignature(Promise.resolve(given), by, over)).rejects.toMatchObject({
        code: "ERR_FAREBOX_CHAIN",
        message: "the signer did not sign",
      });
    }
  });
});

test("untilPassed repeats a check until it has passed once, and callers share a running one", async () => {
  let [runs, passes] = [0, false];
  const check = untilPassed(async () => {
    runs++;
    await Promise.resolve();
    if (!passes) throw new ChainError("another network");
  });
  const first = await Promise.allSettled([check(), check()]);
  expect(first.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(runs).toBe(1);
  passes = true;
  await Promise.all([check(), check()]);
  await check();
  expect(runs).toBe(2);
});

test.each<[what: string, read: () => Promise<bigint | number>, health: object]>([
  ["with a balance is well", async () => 1n, { ok: true }],
  ["without one is not", async () => 0, { ok: false, problem: "payer has nothing to pay for transactions with" }],
  ["below what it has to keep is not", async () => -1n, { ok: false, problem: expect.stringContaining("nothing") }],
  ["of another network says so", rejecting(new ChainError("not of x")), { ok: false, problem: "not of x" }],
  [
    "that fails is not quoted",
    rejecting(new TypeError("secret")),
    { ok: false, problem: "the node could not be asked" },
  ],
])("healthOf reports a chain %s", async (_, read, health) => {
  expect(await healthOf("payer", read)).toEqual(health);
});

function rejecting(error: Error): () => Promise<never> {
  return () => Promise.reject(error);
}

describe("a sent transaction", () => {
  test("a sent transaction is sent again until its outcome is known, although each sending fails", async () => {
    const handed: string[] = [];
    const sent = new SentTransactions<string>({ ...FAST, confirmTimeoutMs: 60_000 }, async (bytes) => {
      handed.push(bytes);
      throw new TypeError("connection lost");
    });
    await sent.send("a", "bytes");
    const looks = [
      () => "pending" as const,
      () => Promise.reject(new TypeError("no node")),
      () => "confirmed" as const,
    ];
    expect(await sent.outcomeOf("a", async () => looks.shift()?.() ?? "pending")).toBe("confirmed");
    expect(handed).toEqual(["bytes", "bytes", "bytes"]);
    expect(sent.find("a")).toBeUndefined();
  });

  test("a sent transaction is pending after its time, and not forgotten", async () => {
    const sent = new SentTransactions<string>(FAST, async () => {});
    await sent.send("a", "bytes");
    expect(await sent.outcomeOf("a", async () => "pending")).toBe("pending");
    expect(sent.find("a")).toBe("bytes");
    sent.forget("a");
    expect(sent.find("a")).toBeUndefined();
  });

  test("a transaction of another process is waited for, and not sent", async () => {
    const sent = new SentTransactions<string>(FAST, () => Promise.reject(new TypeError("sent")));
    expect(await sent.outcomeOf("b", async () => "pending")).toBe("pending");
  });

  test("a sent transaction is forgotten when ten thousand others were sent after it", async () => {
    const sent = new SentTransactions<number>(FAST, async () => {});
    for (let nth = 0; nth <= 10_000; nth++) await sent.send(`${nth}`, nth);
    expect([sent.find("0"), sent.find("1"), sent.find("10000")]).toEqual([undefined, 1, 10_000]);
  });
});
