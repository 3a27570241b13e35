/**
 * Sign-in by hooks of the shape of `@x402/extensions/sign-in-with-x`, and the constant of its version 2.10.
 *
 * @module
 */
import { once } from "node:events";
import {
  createSIWxRequestHook,
  createSIWxSettleHook,
  declareSIWxExtension,
  InMemorySIWxStorage,
  parseSIWxHeader,
  siwxResourceServerExtension,
  verifySIWxSignature,
} from "@farebox/compat/extensions";
import * as theirs from "@x402/extensions/sign-in-with-x";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, onTestFinished, test, vi } from "vitest";

const ORIGIN = new URL("https://api.example.com");
const account = privateKeyToAccount(generatePrivateKey());

const INFO = {
  domain: "api.example.com",
  uri: "https://api.example.com/weather?a=1",
  version: "1",
  nonce: "0123456789abcdef0123456789abcdef",
  issuedAt: new Date(Date.now() - 1000).toISOString(),
};

async function signIn(wallet: unknown, info: object): Promise<string> {
  return theirs.encodeSIWxHeader(await theirs.createSIWxPayload(info as never, wallet as never, ORIGIN));
}

const storage = new InMemorySIWxStorage();
const ask = createSIWxRequestHook({ storage, origin: ORIGIN.origin });
const settled = createSIWxSettleHook({ storage });
/** A request as the adapter of compat has it behind itself. */
const request = (path: string, { method = "GET", search = "", url = `${ORIGIN.origin}${path}`, native = {} } = {}) => ({
  ...{ method, path, search, url, native, header: () => undefined },
});
const context = (header: string, path = "/weather", more: Parameters<typeof request>[1] = {}) => ({
  path,
  adapter: {
    getHeader: (name: string) => (name.toLowerCase() === "sign-in-with-x" ? header : undefined),
    [Symbol.for("farebox.pricedRequest")]: request(path, more),
  },
});
/** A payment that has settled, whose client names another resource. */
const sale = (path: string, more: Parameters<typeof request>[1] = {}) => ({
  result: { success: true, payer: account.address.toLowerCase() },
  requirements: { amount: "1000" },
  paymentPayload: { accepted: { amount: "1000" }, resource: { url: "https://evil.example/other" } },
  transportContext: { request: context("", path, more) },
});

test("a wallet that paid for a path passes there, and nowhere else", async () => {
  const header = await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" });
  expect(await ask(context(header))).toBeUndefined();
  const sold = sale("/weather");
  await settled({ ...sold, result: { ...sold.result, success: false } });
  await settled({ ...sold, requirements: { amount: "0" } });
  await settled({ ...sold, transportContext: undefined });
  await settled(sale("/weather", { method: "POST" }));
  expect(await ask(context(header))).toBeUndefined();
  await settled(sold);
  expect(await ask(context(header))).toEqual({ grantAccess: true });
  expect(await ask(context(header, "/other"))).toBeUndefined();
  for (const more of [{ method: "POST" }, { method: "HEAD" }, { search: "?size=large" }]) {
    expect(await ask(context(header, "/weather", more))).toBeUndefined();
  }
  expect(await ask(context(header), { accepts: { price: () => "$5" } })).toBeUndefined();
  expect(await ask(context(""))).toBeUndefined();
});

test("a signature is enough where nothing is sold", async () => {
  const header = await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" });
  expect(await ask(context(header, "/profile"), { accepts: [] })).toEqual({ grantAccess: true });
  const forged = theirs.encodeSIWxHeader({ ...theirs.parseSIWxHeader(header), address: `0x${"11".repeat(20)}` });
  expect(await ask(context(forged, "/profile"), { accepts: [] })).toBeUndefined();
});

test("a storage that remembers nonces lets each signature pass once", async () => {
  const used = new Set<string>();
  const events: unknown[] = [];
  const once = createSIWxRequestHook({
    storage: {
      hasPaid: () => true,
      recordPayment() {},
      hasUsedNonce: (nonce) => used.has(nonce),
      recordNonce: (nonce) => void used.add(nonce),
    },
    origin: ORIGIN.origin,
    onEvent: ({ type }) => void events.push(type),
  });
  const header = await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" });
  expect([await once(context(header)), await once(context(header))]).toEqual([{ grantAccess: true }, undefined]);
  expect(events).toEqual(["access_granted", "nonce_reused"]);
});

test("a storage that does not answer for 5 seconds is given up", async () => {
  const header = await signIn(account, { ...INFO, chainId: "eip155:8453", type: "eip191" });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const hanging = { hasPaid: () => new Promise<boolean>(() => {}), recordPayment() {} };
  const hook = createSIWxRequestHook({ storage: hanging, origin: ORIGIN.origin });
  const refused = expect(hook(context(header))).rejects.toThrow("5000 milliseconds");
  await vi.advanceTimersByTimeAsync(5_000);
  await refused;
  expect(vi.getTimerCount()).toBe(0);
});

test("what would let others in is refused at start", () => {
  expect(() => createSIWxRequestHook({ storage, origin: "api.example.com" })).toThrow("options.origin");
  expect(() => createSIWxRequestHook({ origin: ORIGIN.origin } as never)).toThrow("options.storage");
  const half = { hasPaid: () => true, recordPayment() {}, hasUsedNonce: () => false };
  expect(() => createSIWxSettleHook({ storage: half })).toThrow("recordNonce");
});

test("without an origin, a wallet signs in on this machine only, and the seller is warned", async () => {
  const warning = once(process, "warning");
  const hook = createSIWxRequestHook({ storage: { hasPaid: () => true, recordPayment() {} } });
  expect(await warning).toMatchObject([{ code: "FAREBOX_SIGNED_HOST_UNKNOWN" }]);
  const at = async (origin: string) => {
    const info = { ...INFO, domain: new URL(origin).host, uri: origin, chainId: "eip155:1", type: "eip191" };
    const header = theirs.encodeSIWxHeader(await theirs.createSIWxPayload(info as never, account, origin));
    return (remoteAddress: string, headers = {}) => {
      const native = { socket: { localAddress: "127.0.0.1", remoteAddress }, headers };
      return hook(context(header, "/a", { url: `${origin}/a`, native }));
    };
  };
  const here = await at("http://localhost:4021");
  expect(await here("::ffff:127.0.0.1")).toEqual({ grantAccess: true });
  expect(await here("203.0.113.7")).toBeUndefined();
  expect(await here("127.0.0.1", { "x-forwarded-for": "203.0.113.7" })).toBeUndefined();
  expect(await (await at("https://evil.example"))("127.0.0.1")).toBeUndefined();
});

test("the constant of version 2.10 makes challenges that the reference's client signs", async () => {
  const declaration = declareSIWxExtension({ statement: "Sign in", expirationSeconds: 60 })["sign-in-with-x"];
  const { info, supportedChains } = await siwxResourceServerExtension.enrichPaymentRequiredResponse(declaration, {
    requirements: [{ network: "eip155:8453" }, { network: "eip155:8453" }],
    resourceInfo: { url: "https://api.example.com/weather" },
  });
  expect(supportedChains).toEqual([{ chainId: "eip155:8453", type: "eip191" }]);
  const header = await signIn(account, { ...info, ...supportedChains[0] });
  expect(await verifySIWxSignature(parseSIWxHeader(header))).toMatchObject({ isValid: true });
});
