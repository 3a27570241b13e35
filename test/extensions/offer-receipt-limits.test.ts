/**
 * What strangers can make the extension `offer-receipt` do: a signature is a seller's work, and a statement of the seller's.
 *
 * @module
 */
import type { DeclarationContext } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import {
  createOfferReceiptExtension,
  declareOfferReceiptExtension,
  type OfferReceiptIssuer,
  type OfferReceiptOptions,
  type SignedOffer,
} from "@farebox/extensions";
import { expect, onTestFinished, test, vi } from "vitest";

const OFFER = {
  scheme: "exact",
  network: "eip155:84532",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  amount: "10000",
  maxTimeoutSeconds: 60,
  extra: {},
};

/** Signs when it is told to. */
function createIssuer(kid = "did:key:z6Mk") {
  const waiting: (() => void)[] = [];
  const urls: string[] = [];
  const issuer: OfferReceiptIssuer = {
    kid,
    format: "jws",
    issueOffer(url, { acceptIndex }) {
      urls.push(url);
      return new Promise<SignedOffer>((resolve) => {
        waiting.push(() => resolve({ format: "jws", acceptIndex, signature: `${urls.length}` }));
      });
    },
    issueReceipt: async (url) => ({ format: "jws", signature: url }),
  };
  const release = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  return { issuer, urls, release };
}

interface Compiled {
  readonly notices: readonly { readonly code: string }[];
  challenge(context: object): Promise<{ info: { offers: readonly SignedOffer[] } } | undefined>;
  receipt(context: object): Promise<{ info: { receipt: { signature: string } } } | undefined>;
}

function compile(issuer: OfferReceiptIssuer, options?: OfferReceiptOptions, ownHosts: readonly string[] = []) {
  const issues = createIssues();
  const context = { path: "extension", ownHosts, issues } as unknown as DeclarationContext;
  const declaration = declareOfferReceiptExtension()["offer-receipt"];
  const compiled = createOfferReceiptExtension(issuer, options).compile(declaration, context);
  expect(issues.found).toEqual([]);
  return compiled as unknown as Compiled;
}

/** A connection whose both ends are on this machine. */
const native = { socket: { localAddress: "127.0.0.1", remoteAddress: "127.0.0.1" }, headers: {} };

const at = (url: string, offers: readonly object[] = [OFFER]) => ({ resource: { url }, offers, request: { native } });

test("an offer is signed once for half of its validity, also when it is asked for at the same time", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { issuer, urls, release } = createIssuer();
  const { challenge } = compile(issuer);
  const url = "http://localhost/weather";
  const both = Promise.all([challenge(at(url)), challenge(at(url))]);
  release();
  const [one, other] = await both;
  expect(one).toEqual(other);
  vi.setSystemTime(1_800_000_029_999);
  expect(await challenge(at(url))).toEqual(one);
  expect(urls.length).toBe(1);
  vi.setSystemTime(1_800_000_030_000);
  const later = challenge(at(url));
  release();
  await later;
  expect(urls.length).toBe(2);
});

test("another price, resource or position in accepts is another offer", async () => {
  const { issuer, urls, release } = createIssuer();
  const { challenge } = compile(issuer);
  const signed = Promise.all([
    challenge(at("http://localhost/a", [OFFER, OFFER])),
    challenge(at("http://localhost/b")),
    challenge(at("http://localhost/b", [{ ...OFFER, amount: "1" }])),
  ]);
  release();
  const [first] = await signed;
  expect(first?.info.offers.map(({ acceptIndex }) => acceptIndex)).toEqual([0, 1]);
  expect(urls.length).toBe(4);
});

test("beyond maxSignatures a challenge has no signed offers, and waits for none", async () => {
  const { issuer, urls, release } = createIssuer();
  const { challenge } = compile(issuer, { maxSignatures: 2 });
  const running = [challenge(at("http://localhost/1")), challenge(at("http://localhost/2"))];
  expect(await challenge(at("http://localhost/3"))).toBeUndefined();
  release();
  expect((await Promise.all(running)).map((each) => each?.info.offers.length)).toEqual([1, 1]);
  const next = challenge(at("http://localhost/3"));
  release();
  expect((await next)?.info.offers.length).toBe(1);
  expect(urls.length).toBe(3);
});

test("a signer that hangs gives its place back, and one that fails is asked again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { issuer, release } = createIssuer();
  const { challenge } = compile(issuer, { maxSignatures: 1 });
  const hanging = expect(challenge(at("http://localhost/1"))).rejects.toThrow("5 seconds");
  await vi.advanceTimersByTimeAsync(5_000);
  await hanging;
  const next = challenge(at("http://localhost/1"));
  release();
  expect((await next)?.info.offers.length).toBe(1);
  const failing = compile({ ...issuer, issueOffer: () => Promise.reject(new RangeError("no key")) });
  await expect(failing.challenge(at("http://localhost/1"))).rejects.toThrow("no key");
});

test.each([5, "", "a\r\nb", "x".repeat(5_000), undefined])(
  "what is no signature is not sent: %j",
  async (signature) => {
    const signed = { format: "jws", signature } as never;
    const { issuer } = createIssuer();
    const { challenge, receipt } = compile({
      ...issuer,
      issueOffer: async () => signed,
      issueReceipt: async () => signed,
    });
    const url = "http://localhost/weather";
    await expect(challenge(at(url))).rejects.toThrow("no signature");
    const settled = { receipt: { network: "eip155:1", transaction: "0x", success: true }, payer: "0x1", payload: {} };
    await expect(receipt({ ...settled, request: { url, native } })).rejects.toThrow("no signature");
  },
);

test("one failed signature does not keep the others back", async () => {
  const { issuer } = createIssuer();
  const issueOffer: OfferReceiptIssuer["issueOffer"] = async (_url, { acceptIndex }) => {
    if (acceptIndex === 0) throw new RangeError("no key");
    return { format: "jws", acceptIndex, signature: "s" };
  };
  const { challenge } = compile({ ...issuer, issueOffer });
  expect((await challenge(at("http://localhost/1", [OFFER, OFFER])))?.info.offers).toHaveLength(1);
});

test("signed offers of 2000 URLs are not all kept", async () => {
  const { issuer, urls } = createIssuer();
  const issueOffer: OfferReceiptIssuer["issueOffer"] = async (url, { acceptIndex }) => {
    urls.push(url);
    return { format: "jws", acceptIndex, signature: url };
  };
  const { challenge } = compile({ ...issuer, issueOffer });
  for (let n = 0; n < 2000; n++) await challenge(at(`http://localhost/${n}`));
  await challenge(at("http://localhost/1999"));
  expect(urls.length).toBe(2000);
  await challenge(at("http://localhost/0"));
  expect(urls.length).toBe(2001);
});

const FORGED = "https://evil.example/weather";
const OWN = "https://api.example.com/weather?a=1";

test.each([
  ["a host that only the client names", {}, undefined, [], FORGED, undefined],
  ["this machine", {}, undefined, [], "http://127.0.0.1:4021/weather", "http://127.0.0.1:4021/weather"],
  ["an allowed host", {}, undefined, ["api.example.com"], OWN, OWN],
  ["an allowed host with another port", {}, undefined, ["api.example.com:8443"], OWN, undefined],
  ["another host than the allowed one", {}, undefined, ["api.example.com"], FORGED, undefined],
  ["the host of a did:web key", {}, "did:web:api.example.com#key-1", [], OWN, OWN],
  ["another host than that of the key", {}, "did:web:api.example.com#key-1", [], FORGED, undefined],
  ["a host under an origin", { origin: "https://api.example.com" }, undefined, [], FORGED, OWN.slice(0, -4)],
  [
    "a path with two slashes under an origin",
    { origin: "https://api.example.com" },
    undefined,
    [],
    "https://a.example//evil.example/",
    "https://api.example.com//evil.example/",
  ],
  ...["/cheap/x/../../dear", "/cheap/%2e%2e/dear", "/cheap/x/..\\..\\dear"].map(
    (path) =>
      [
        `a path that readers resolve, ${path}`,
        { origin: "https://api.example.com" },
        undefined,
        ["api.example.com"],
        `https://api.example.com${path}`,
        undefined,
      ] as const,
  ),
] as const)("%s", async (_what, options, kid, hosts, url, signed) => {
  const { issuer, urls, release } = createIssuer(kid);
  const { challenge, receipt } = compile(issuer, options, hosts);
  const challenged = challenge(at(url));
  release();
  expect((await challenged)?.info.offers.length).toBe(signed === undefined ? undefined : 1);
  expect(urls).toEqual(signed === undefined ? [] : [signed]);
  const settled = { receipt: { network: "eip155:1", transaction: "0x", success: true }, payer: "0x1", payload: {} };
  expect((await receipt({ ...settled, request: { url, native } }))?.info.receipt.signature).toBe(signed);
  const later = await receipt({ ...settled, request: undefined, payload: { resource: { url } } });
  // Without a connection, "this machine" may be any.
  expect(later?.info.receipt.signature).toBe(url.startsWith("http://127.") ? undefined : signed);
});

test("a seller without a host is told at start", () => {
  const { issuer } = createIssuer();
  expect(compile(issuer).notices).toMatchObject([{ code: "FAREBOX_SIGNED_HOST_UNKNOWN" }]);
  expect(compile(issuer, {}, ["api.example.com"]).notices).toEqual([]);
  expect(compile(issuer, { origin: "https://api.example.com" }).notices).toEqual([]);
});

test("bad options and declarations are refused, all at once", () => {
  const { issuer } = createIssuer();
  expect(() => createOfferReceiptExtension({} as never, { origin: "x", maxSignatures: 0 })).toThrow(
    /issuer: .*\noptions\.origin: .*\noptions\.maxSignatures: /,
  );
  const issues = createIssues();
  const context = { path: "e", ownHosts: [], issues } as unknown as DeclarationContext;
  const declaration = { includeTxHash: "yes", offerValiditySeconds: 1.5 };
  expect(createOfferReceiptExtension(issuer).compile(declaration, context)).toBeUndefined();
  expect(issues.found.map(({ path }) => path)).toEqual(["e.includeTxHash", "e.offerValiditySeconds"]);
});
