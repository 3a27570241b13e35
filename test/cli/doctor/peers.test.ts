/**
 * `farebox doctor`, facilitators and nodes.
 */
import type { RequestListener } from "node:http";
import { type LocalChain, startLocalChain, startLocalSvm } from "@farebox/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDrivenClock } from "../driven-clock.js";
import { runFarebox } from "../run-farebox.js";
import { type Diagnosed, NOBODY, OFFER, seller, serve, USDC, type Wrong } from "./sellers.js";

const BASE = {
  network: "eip155:8453",
  asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  extra: { name: "USD Coin", version: "2" },
};

async function diagnose(wrong: Wrong, ...options: string[]): Promise<Diagnosed> {
  const url = await serve(seller(wrong));
  const { out } = await runFarebox(["doctor", `${url}/weather`, "--json", "--timeout", "120", ...options]);
  return JSON.parse(out);
}

function codesOf({ diagnoses }: Diagnosed): readonly string[] {
  return diagnoses.map(({ code }) => code.replace("FAREBOX_DOCTOR_", ""));
}

function facilitator(kinds: readonly object[], signers: object = {}): RequestListener {
  return (_req, res) => {
    const all = kinds.map((kind) => ({ x402Version: 2, ...kind }));
    res.setHeader("content-type", "application/json").end(JSON.stringify({ kinds: all, extensions: [], signers }));
  };
}

const EXACT = { scheme: "exact", network: "eip155:84532" };
const EXACT_BASE = { scheme: "exact", network: "eip155:8453" };

describe("a facilitator", () => {
  test.each<readonly [string, RequestListener, Wrong, readonly string[]]>([
    ["that supports the offer", facilitator([EXACT, EXACT_BASE]), {}, []],
    [
      "that supports another scheme",
      facilitator([{ ...EXACT, scheme: "upto" }, EXACT_BASE]),
      {},
      ["FACILITATOR_UNSUPPORTED"],
    ],
    ["for test networks", facilitator([EXACT]), { offer: BASE }, ["FACILITATOR_TESTNET"]],
    ["for main networks", facilitator([EXACT_BASE]), {}, ["FACILITATOR_MAINNET"]],
    ["that responds with a page", (_req, res) => void res.end("<html>"), {}, ["FACILITATOR_RESPONSE"]],
    ["that is overloaded", (_req, res) => void res.writeHead(503).end(), {}, ["FACILITATOR_RESPONSE"]],
    [
      "that has another address",
      facilitator([{ scheme: "upto", network: "eip155:84532", extra: { facilitatorAddress: USDC } }]),
      { offer: { scheme: "upto", extra: { ...OFFER.extra, facilitatorAddress: OFFER.payTo } } },
      ["FACILITATOR_SIGNER"],
    ],
  ])("%s", async (_what, listener, wrong, expected) => {
    expect(codesOf(await diagnose(wrong, "--facilitator", await serve(listener)))).toEqual(expected);
  });

  test("that is gone", async () => {
    expect(codesOf(await diagnose({}, "--facilitator", NOBODY))).toEqual(["FACILITATOR_UNREACHABLE"]);
  });

  test("that hangs is given up", async () => {
    const clock = createDrivenClock();
    const [url, hanging] = [await serve(seller({})), await serve(() => clock.pass(10_000))];
    const { out } = await runFarebox(["doctor", `${url}/weather`, "--json", "--facilitator", hanging], { clock });
    expect(codesOf(JSON.parse(out))).toEqual(["FACILITATOR_UNREACHABLE"]);
  });

  test("that is slow is told", async () => {
    const clock = createDrivenClock();
    const url = await serve(seller({}));
    const slow = await serve((req, res) => {
      clock.pass(2_001);
      facilitator([EXACT, EXACT_BASE])(req, res);
    });
    const { out } = await runFarebox(["doctor", `${url}/weather`, "--json", "--facilitator", slow], { clock });
    expect(codesOf(JSON.parse(out))).toEqual(["FACILITATOR_SLOW"]);
  });

  test("beside one that supports the offer is enough", async () => {
    const urls = [await serve(facilitator([{ ...EXACT, scheme: "upto" }])), await serve(facilitator([EXACT]))];
    expect(codesOf(await diagnose({}, ...urls.flatMap((url) => ["--facilitator", url])))).toEqual([]);
  });
});

describe("a node of EVM", () => {
  let chain: LocalChain;
  beforeAll(async () => {
    chain = await startLocalChain();
  }, 60_000);
  afterAll(() => chain.close());
  const rpc = (network = "eip155:84532") => ["--rpc", `${network}=${chain.rpcUrl}`];

  test("with the real USDC finds nothing", async () => {
    expect(codesOf(await diagnose({}, ...rpc()))).toEqual([]);
  });

  test("knows that there is no token", async () => {
    const { diagnoses } = await diagnose({ offer: { asset: OFFER.payTo, payTo: USDC } }, ...rpc());
    expect(diagnoses.map(({ code }) => code)).toContain("FAREBOX_DOCTOR_ASSET_MISSING");
  });

  test("knows that the token refuses the payee", async () => {
    // USDC refuses transfers to itself and to the zero address.
    const { diagnoses } = await diagnose({ offer: { payTo: `0x${"0".repeat(40)}` } }, ...rpc());
    expect(diagnoses.map(({ code }) => code)).toContain("FAREBOX_DOCTOR_PAYEE_UNPAYABLE");
  });

  test("knows the token's domain, whatever our tables say", async () => {
    const wrong = { offer: { extra: { name: "USDC", version: "3" } } };
    const messages = (await diagnose(wrong, ...rpc())).diagnoses.map(({ message }) => message);
    expect(messages).toContain('extra.version is "3", and the contract says "2"');
  });

  test("of another chain is told", async () => {
    expect(codesOf(await diagnose({ offer: BASE }, ...rpc("eip155:8453")))).toContain("NODE_WRONG_CHAIN");
  });

  test("that is gone is told", async () => {
    expect(codesOf(await diagnose({}, "--rpc", `eip155:84532=${NOBODY}`))).toEqual(["NODE_UNREACHABLE"]);
  });

  test("that stands still is told", async () => {
    const old = `0x${Math.floor(Date.now() / 1000 - 3600).toString(16)}`;
    const url = await serve((req, res) => {
      let body = "";
      req.setEncoding("utf8").on("data", (chunk) => {
        body += chunk;
      });
      req.on("end", () => {
        const { id, method } = JSON.parse(body);
        const results: Record<string, unknown> = {
          eth_chainId: "0x14a34",
          eth_getBlockByNumber: { timestamp: old },
          eth_getCode: "0x01",
        };
        res
          .setHeader("content-type", "application/json")
          .end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? "0x" }));
      });
    });
    expect(codesOf(await diagnose({}, "--rpc", `eip155:84532=${url}`))).toEqual(["NODE_BEHIND"]);
  });
});

describe("a node of Solana", () => {
  test("knows that the payee has no token account", async () => {
    const svm = await startLocalSvm();
    try {
      const { network, asset, rpcUrl } = svm;
      const payTo = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
      const offer = { network, asset, payTo, extra: { feePayer: payTo } };
      const { diagnoses } = await diagnose({ offer }, "--rpc", `${network}=${rpcUrl}`);
      expect(diagnoses).toContainEqual(expect.objectContaining({ code: "FAREBOX_DOCTOR_PAYEE_UNPAYABLE" }));
    } finally {
      await svm.close();
    }
  });
});
