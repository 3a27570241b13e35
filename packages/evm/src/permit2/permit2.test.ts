import type { PaymentRequirements } from "@farebox/core";
import fc from "fast-check";
import { toEventSelector, toFunctionSelector } from "viem";
import { describe, expect, test } from "vitest";
import { exactEvm } from "../exact/exact-evm.js";
import { uptoEvm } from "../upto/upto-evm.js";
import { encodeNonceBitmap, hasNonce, NONCE_INVALIDATION, PROXIES, type ProxyKind } from "./permit2.js";

const NOW = 1_800_000_000;
const STRANGER = `0x${"33".repeat(20)}`;
const FACILITATOR = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

function termsOf(scheme: ProxyKind): PaymentRequirements {
  return {
    scheme,
    network: "eip155:84532",
    amount: "10000",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    maxTimeoutSeconds: 300,
    extra: { assetTransferMethod: "permit2", name: "USDC", version: "2" },
  };
}

const NONCE = `0xf3${"0".repeat(61)}A`;

function payloadOf(kind: ProxyKind) {
  const { asset, amount, payTo } = termsOf(kind);
  return {
    signature: `0x${"11".repeat(65)}`,
    permit2Authorization: {
      from: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
      permitted: { token: asset, amount },
      spender: PROXIES[kind],
      nonce: BigInt(NONCE).toString(),
      deadline: String(NOW + 300),
      witness: { to: payTo, validAfter: "0", ...(kind === "upto" ? { facilitator: FACILITATOR } : {}) },
    },
  };
}

const KINDS = ["exact", "upto"] as const;
const SCHEMES = { exact: exactEvm(), upto: uptoEvm() };

/** The payment with one changed field; `undefined` removes it. */
function changed(kind: ProxyKind, path: string, value: unknown): unknown {
  const payload = structuredClone(payloadOf(kind)) as Record<string, unknown>;
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  let at = payload;
  for (const key of keys) at = at[key] as Record<string, unknown>;
  at[last] = value;
  return JSON.parse(JSON.stringify(payload));
}

function read(kind: ProxyKind, payload: unknown) {
  return SCHEMES[kind].readPayment(payload, termsOf(kind), NOW);
}

const VALUE = "invalid_exact_evm_payload_authorization_value_mismatch";
const RECIPIENT = "invalid_exact_evm_payload_recipient_mismatch";
const AFTER = "invalid_exact_evm_payload_authorization_valid_after";
const BEFORE = "invalid_exact_evm_payload_authorization_valid_before";

describe.each(KINDS)("readPayment of %s by Permit2", (kind) => {
  test("a payment is identified by payer and nonce, in any spelling, regardless of the token", () => {
    const identity = `eip155:84532|permit2|0x857b06519e91e3a54538791bdbb0e22373e36b66|${BigInt(NONCE)}`;
    const reading = {
      kind: "readable",
      payload: payloadOf(kind),
      identity,
      payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
      expiresAtSeconds: NOW + 300,
      expiredReason: BEFORE,
    };
    expect(read(kind, payloadOf(kind))).toEqual(reading);
    expect(read(kind, changed(kind, "permit2Authorization.nonce", NONCE))).toEqual(reading);
    const from = "0x857B06519E91E3A54538791BDBB0E22373E36B66";
    expect(read(kind, changed(kind, "permit2Authorization.from", from))).toEqual(reading);
  });

  test("a payment is passed on without fields that are not signed", () => {
    const spelled = { more: 1, authorization: { from: STRANGER }, ...payloadOf(kind) };
    expect(read(kind, spelled)).toMatchObject({ payload: payloadOf(kind) });
    expect(read(kind, changed(kind, "permit2Authorization.witness.extra", "0x"))).toEqual(read(kind, payloadOf(kind)));
  });

  const REFUSED: readonly (readonly [path: string, value: unknown, reason: string, why: string])[] = [
    ["signature", undefined, "invalid_payload", "none"],
    ["signature", "0x", "invalid_payload", "an empty one"],
    ["signature", `0x${"1".repeat(131)}`, "invalid_payload", "half a byte"],
    ["permit2Authorization", undefined, "invalid_payload", "none"],
    ["permit2Authorization", "x", "invalid_payload", "text"],
    ["permit2Authorization.from", "0x1", "invalid_payload", "no address"],
    ["permit2Authorization.permitted", null, "invalid_payload", "nothing"],
    ["permit2Authorization.permitted.token", STRANGER, "invalid_payload", "another token"],
    ["permit2Authorization.permitted.amount", "9999", VALUE, "less"],
    ["permit2Authorization.permitted.amount", "10001", VALUE, "more"],
    ["permit2Authorization.permitted.amount", 10_000, "invalid_payload", "a number"],
    ["permit2Authorization.permitted.amount", "010000", "invalid_payload", "a zero in front"],
    ["permit2Authorization.spender", STRANGER, "invalid_payload", "an account that could send it anywhere"],
    [
      "permit2Authorization.spender",
      PROXIES[kind === "exact" ? "upto" : "exact"],
      "invalid_payload",
      "the other proxy",
    ],
    ["permit2Authorization.nonce", "-1", "invalid_payload", "a sign"],
    ["permit2Authorization.nonce", "0x1", "invalid_payload", "not 32 bytes"],
    ["permit2Authorization.nonce", (2n ** 256n).toString(), "invalid_payload", "too large"],
    ["permit2Authorization.deadline", String(NOW + 3_901), BEFORE, "more than maxTimeoutSeconds and an hour"],
    ["permit2Authorization.deadline", "soon", "invalid_payload", "no number"],
    ["permit2Authorization.witness", [], "invalid_payload", "a list"],
    ["permit2Authorization.witness.to", STRANGER, RECIPIENT, "another account"],
    ["permit2Authorization.witness.validAfter", String(NOW + 1), AFTER, "later"],
    ["permit2Authorization.witness.validAfter", undefined, "invalid_payload", "none"],
  ];

  test.each(REFUSED)("a payment with %s %j is refused: %s (%s)", (path, value, reason) => {
    expect(read(kind, changed(kind, path, value))).toEqual({ kind: "refused", reason });
  });

  test.each([
    [NOW + 6, "readable"],
    [NOW + 5, "expired"],
    [0, "expired"],
    [NOW + 3_900, "readable"],
  ])("a payment with the deadline %i is %s", (deadline, state) => {
    expect(read(kind, changed(kind, "permit2Authorization.deadline", String(deadline)))).toMatchObject({ kind: state });
  });

  test("readPayment never throws", () => {
    const field = fc.oneof(fc.anything(), fc.constantFrom(...Object.values(payloadOf(kind).permit2Authorization)));
    const authorization = fc.dictionary(
      fc.constantFrom("from", "permitted", "spender", "nonce", "deadline", "witness"),
      field,
    );
    const payload = fc.oneof(
      fc.anything(),
      fc.record({ signature: fc.constant(payloadOf(kind).signature), permit2Authorization: authorization }),
    );
    fc.assert(
      fc.property(payload, (some) => void expect(["readable", "expired", "refused"]).toContain(read(kind, some).kind)),
    );
  });
});

describe("the facilitator in an upto payment", () => {
  test("an upto payment without a facilitator is refused", () => {
    for (const facilitator of [undefined, "0x1", 5]) {
      const payload = changed("upto", "permit2Authorization.witness.facilitator", facilitator);
      expect(read("upto", payload)).toEqual({ kind: "refused", reason: "invalid_payload" });
    }
  });

  test("an upto payment may name another facilitator than the offer, because facilitators have several addresses", () => {
    const payload = changed("upto", "permit2Authorization.witness.facilitator", STRANGER);
    expect(read("upto", payload)).toMatchObject({ kind: "readable" });
  });
});

test("a payment by one transfer method is refused if the terms ask for the other", () => {
  const requirements = termsOf("exact");
  const byAuthorization = { ...requirements, extra: { name: "USDC", version: "2" } };
  expect(SCHEMES.exact.readPayment(payloadOf("exact"), byAuthorization, NOW)).toMatchObject({ kind: "refused" });
  const { signature } = payloadOf("exact");
  const authorization = {
    from: STRANGER,
    to: requirements.payTo,
    value: "10000",
    validAfter: "0",
    validBefore: String(NOW + 300),
    nonce: NONCE,
  };
  const payload = { signature, authorization };
  expect(SCHEMES.exact.readPayment(payload, byAuthorization, NOW)).toMatchObject({ kind: "readable" });
  expect(SCHEMES.exact.readPayment(payload, requirements, NOW)).toMatchObject({ kind: "refused" });
});

describe("words of Permit2", () => {
  test("selectors and topics are those of the Permit2 contract", () => {
    const event = "event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)";
    expect(NONCE_INVALIDATION).toBe(toEventSelector(event));
    const call = encodeNonceBitmap(`0x${"ab".repeat(20)}`, 0x123n);
    expect(call).toBe(
      `${toFunctionSelector("function nonceBitmap(address, uint256)")}${"ab".repeat(20).padStart(64, "0")}${"1".padStart(64, "0")}`,
    );
  });

  test("a bitmap has one bit for each nonce", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.integer({ min: 0, max: 255 }), (nonce, bit) => {
        expect(hasNonce(1n << BigInt(bit), nonce)).toBe((nonce & 0xffn) === BigInt(bit));
      }),
    );
  });
});
