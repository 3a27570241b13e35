import { readFileSync } from "node:fs";
import type { PaymentPayload, PaymentRequirements } from "@farebox/core";
import fc from "fast-check";
import { encodeFunctionData, parseAbi, toEventSelector } from "viem";
import { describe, expect, test } from "vitest";
import { AUTHORIZATION_CANCELED, AUTHORIZATION_USED, encodeAuthorizationState } from "./eip3009.js";
import { exactEvm } from "./exact-evm.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

interface Payload {
  readonly signature: string;
  readonly authorization: Readonly<Record<"from" | "to" | "value" | "validAfter" | "validBefore" | "nonce", string>>;
}

/** The specification's own payment, and a time at which it is valid. */
const FILE = new URL("../../../../test/vectors/exact-evm.json", import.meta.url);
const EXAMPLE: PaymentPayload = JSON.parse(readFileSync(FILE, "utf8")).vectors[0].document;
const REQUIREMENTS = EXAMPLE.accepted as PaymentRequirements;
const PAYLOAD = EXAMPLE.payload as unknown as Payload;
const VALID_AFTER = Number(PAYLOAD.authorization.validAfter);
const VALID_BEFORE = Number(PAYLOAD.authorization.validBefore);
const NOW = VALID_AFTER + 10;

const { readPayment } = exactEvm();

function read(change: object = {}, authorization: object = {}, nowSeconds = NOW) {
  const payload = { ...PAYLOAD, ...change, authorization: { ...PAYLOAD.authorization, ...authorization } };
  return readPayment(payload, REQUIREMENTS, nowSeconds);
}

function refused(reason: string) {
  return { kind: "refused", reason };
}

const INVALID = refused("invalid_payload");
const TOO_EARLY = refused("invalid_exact_evm_payload_authorization_valid_after");
const TOO_LONG = refused("invalid_exact_evm_payload_authorization_valid_before");

test("readPayment reads the specification's example", () => {
  expect(readPayment(EXAMPLE.payload, REQUIREMENTS, NOW)).toEqual({
    kind: "readable",
    payload: EXAMPLE.payload,
    identity:
      `eip155:84532|${REQUIREMENTS.asset}|${PAYLOAD.authorization.from}|${PAYLOAD.authorization.nonce}`.toLowerCase(),
    payer: PAYLOAD.authorization.from,
    expiresAtSeconds: VALID_BEFORE,
    expiredReason: "invalid_exact_evm_payload_authorization_valid_before",
  });
});

test("a payment is passed on in one spelling, without fields that are not signed", () => {
  const { authorization, signature } = PAYLOAD;
  const capitals = (text: string) => `0x${text.slice(2).toUpperCase()}`;
  const { from, to, nonce } = authorization;
  const spelled = { from: capitals(from), to: capitals(to), nonce: capitals(nonce), more: [] };
  const change = { signature: capitals(signature), permit2Authorization: {} };
  expect(read(change, spelled)).toEqual(readPayment(EXAMPLE.payload, REQUIREMENTS, NOW));
});

test("payers beyond the thousandth are read like the first", () => {
  for (let at = 0; at < 1_100; at++) {
    const from = `0x${at.toString(16).padStart(40, "0")}`;
    expect(read({}, { from })).toMatchObject({ payer: expect.stringMatching(new RegExp(`^${from}$`, "i")) });
  }
  const from = PAYLOAD.authorization.from.toLowerCase();
  expect(read({}, { from })).toMatchObject({ payer: PAYLOAD.authorization.from });
});

describe("the form of the fields", () => {
  const NEITHER_TEXT: readonly unknown[] = [undefined, null, 0, 1, true, [], {}, ["x"], { a: "x" }];
  const NO_DECIMAL = ["", "-1", "+1", "1.0", "1e3", "0x10", "01", "00", " 1", "1 ", "1\n", "1n", "١", "9".repeat(79)];
  const NO_ADDRESS = [
    "",
    "0x",
    "0x1",
    PAYLOAD.authorization.to.slice(2),
    `${PAYLOAD.authorization.to}0`,
    "vitalik.eth",
  ];
  const NO_NONCE = [
    "",
    "0x",
    "1",
    PAYLOAD.authorization.nonce.slice(2),
    `${PAYLOAD.authorization.nonce}00`,
    `0x${"g".repeat(64)}`,
  ];
  const NO_SIGNATURE = ["", "0x", "0xabc", "abcd", `0x${"zz".repeat(65)}`, `0x${"ab".repeat(4097)}`];

  const cases: readonly (readonly [name: string, values: readonly unknown[]])[] = [
    ["value", [...NEITHER_TEXT, ...NO_DECIMAL, 10_000]],
    ["validAfter", [...NEITHER_TEXT, ...NO_DECIMAL, VALID_AFTER]],
    ["validBefore", [...NEITHER_TEXT, ...NO_DECIMAL, VALID_BEFORE]],
    ["from", [...NEITHER_TEXT, ...NO_ADDRESS]],
    ["to", [...NEITHER_TEXT, ...NO_ADDRESS]],
    ["nonce", [...NEITHER_TEXT, ...NO_NONCE, 5]],
  ];

  test.each(cases)("a payment is refused if %s of the authorization is malformed", (name, values) => {
    for (const value of values) expect(read({}, { [name]: value }), JSON.stringify(value)).toEqual(INVALID);
  });

  test("a payment is refused if its signature is malformed", () => {
    for (const signature of [...NEITHER_TEXT, ...NO_SIGNATURE]) {
      expect(read({ signature }), String(signature)).toEqual(INVALID);
    }
  });

  test.each([undefined, null, 5, "x", [], {}, { signature: PAYLOAD.signature }])(
    "a payment is refused if its payload or authorization is %j",
    (payload) => {
      expect(readPayment(payload, REQUIREMENTS, NOW)).toEqual(INVALID);
      expect(readPayment({ ...PAYLOAD, authorization: payload }, REQUIREMENTS, NOW)).toEqual(INVALID);
    },
  );

  test("fields of a prototype do not count", () => {
    const payload = JSON.parse(`{"__proto__":${JSON.stringify(PAYLOAD)}}`);
    expect(readPayment(payload, REQUIREMENTS, NOW)).toEqual(INVALID);
    expect(readPayment(Object.create(PAYLOAD), REQUIREMENTS, NOW)).toEqual(INVALID);
  });

  test.each([1, 65, 130, 4096])(
    "a signature of %i bytes is accepted, because contract wallets sign in their own way",
    (bytes) => {
      expect(read({ signature: `0x${"ab".repeat(bytes)}` }).kind).toBe("readable");
    },
  );

  test("extra fields are accepted", () => {
    expect(read({ more: 1 }, { more: 1 }).kind).toBe("readable");
  });
});

describe("agreement with the terms", () => {
  test.each<[authorization: object, reason: string, why: string]>([
    [{ to: REQUIREMENTS.asset }, "invalid_exact_evm_payload_recipient_mismatch", "to another account"],
    [{ value: "9999" }, "invalid_exact_evm_payload_authorization_value_mismatch", "less"],
    [{ value: "10001" }, "invalid_exact_evm_payload_authorization_value_mismatch", "more, which is not exact"],
    [{ value: "0" }, "invalid_exact_evm_payload_authorization_value_mismatch", "nothing"],
    [{ value: "9".repeat(78) }, "invalid_exact_evm_payload_authorization_value_mismatch", "more than there is"],
    [{ to: REQUIREMENTS.asset, value: "1" }, "invalid_exact_evm_payload_recipient_mismatch", "the recipient first"],
  ])("a payment with %j is refused: %s (%s)", (authorization, reason) => {
    expect(read({}, authorization)).toEqual(refused(reason));
  });

  test("the recipient may be written in another case", () => {
    expect(read({}, { to: PAYLOAD.authorization.to.toLowerCase() }).kind).toBe("readable");
  });
});

describe("the time window", () => {
  test.each<[nowSeconds: number, kind: string, why: string]>([
    [VALID_AFTER - 1, "refused", "a second too early"],
    [VALID_AFTER, "readable", "the first second"],
    [VALID_BEFORE - 6, "readable", "six seconds are left, which facilitators ask for"],
    [VALID_BEFORE - 5, "expired", "five are not enough"],
    [VALID_BEFORE, "expired", "none is left"],
    [VALID_BEFORE + 1_000_000, "expired", "long ago"],
  ])("a payment at %i is %s (%s)", (nowSeconds, kind) => {
    const reading = read({}, {}, nowSeconds);
    expect(reading.kind).toBe(kind);
    if (kind === "refused") expect(reading).toEqual(TOO_EARLY);
  });

  const LONGEST = REQUIREMENTS.maxTimeoutSeconds + 60 * 60;

  test.each<[validBefore: string, reading: object, why: string]>([
    [
      String(NOW + LONGEST),
      { kind: "readable", expiresAtSeconds: NOW + LONGEST },
      "maxTimeoutSeconds, and an hour for clocks",
    ],
    [String(NOW + LONGEST + 1), TOO_LONG, "a second more: it would have to be remembered"],
    [String(Number.MAX_SAFE_INTEGER + 1), TOO_LONG, "more than a number holds"],
    [(2n ** 256n - 1n).toString(), TOO_LONG, "for ever, as some wallets write it"],
    ["9".repeat(78), TOO_LONG, "more than the chain holds"],
    ["0", { kind: "expired", expiresAtSeconds: 0 }, "never"],
  ])("a payment with validBefore %s is %j (%s)", (validBefore, reading) => {
    expect(read({}, { validBefore })).toMatchObject(reading);
  });

  test.each<[validAfter: string, ok: boolean]>([
    ["0", true],
    [String(NOW), true],
    [String(NOW + 1), false],
    [(2n ** 256n - 1n).toString(), false],
    ["9".repeat(78), false],
  ])("a payment with validAfter %s is accepted: %s", (validAfter, ok) => {
    expect(read({}, { validAfter }).kind).toBe(ok ? "readable" : "refused");
  });

  test("an expired payment still has an identity", () => {
    const reading = read({}, {}, VALID_BEFORE + 1);
    expect(reading).toMatchObject({ kind: "expired", identity: expect.stringContaining("eip155:84532|") });
  });
});

describe("the identity", () => {
  const identityOf = (change: object, authorization: object, requirements: Partial<PaymentRequirements> = {}) => {
    const payload = { ...PAYLOAD, ...change, authorization: { ...PAYLOAD.authorization, ...authorization } };
    const reading = readPayment(payload, { ...REQUIREMENTS, ...requirements }, NOW);
    return reading.kind === "refused" ? reading.reason : reading.identity;
  };
  const identity = identityOf({}, {});
  const { from, nonce, to } = PAYLOAD.authorization;

  test.each<[change: object, authorization: object, why: string]>([
    [{}, { from: from.toLowerCase() }, "the payer in lower case"],
    [{}, { nonce: `0x${nonce.slice(2).toUpperCase()}` }, "the nonce in upper case"],
    [{}, { to: to.toLowerCase() }, "the recipient in lower case"],
    [{ signature: "0xabcd" }, {}, "another signature"],
    [{ more: 1 }, { more: 1 }, "fields besides"],
    [{}, { validBefore: String(NOW + 3600), validAfter: "0" }, "another window: the nonce can be used once"],
  ])("the identity is the same with %j %j: %s", (change, authorization) => {
    expect(identityOf(change, authorization)).toBe(identity);
  });

  test.each<[authorization: object, requirements: object, why: string]>([
    [{ from: to }, {}, "another payer"],
    [{ nonce: `0x${"0".repeat(64)}` }, {}, "another nonce"],
    [{}, { asset: from }, "another token, which has nonces of its own"],
    [{}, { network: "eip155:8453" }, "another chain, which has nonces of its own"],
  ])("the identity differs with %j %j: %s", (authorization, requirements) => {
    expect(identityOf({}, authorization, requirements)).not.toBe(identity);
  });
});

test("readPayment never throws", () => {
  const names = fc.constantFrom(...Object.keys(PAYLOAD.authorization), "signature", "authorization", "__proto__");
  const values = fc.oneof(fc.anything(), fc.bigInt().map(String), fc.string({ unit: codeUnit }));
  fc.assert(
    fc.property(fc.anything(), names, values, fc.nat(2 ** 31), (anything, name, value, nowSeconds) => {
      const readings = [
        readPayment(anything, REQUIREMENTS, nowSeconds),
        read({ [name]: value }, {}, nowSeconds),
        read({}, { [name]: value }, nowSeconds),
      ];
      for (const { kind } of readings) expect(["readable", "expired", "refused"]).toContain(kind);
    }),
  );
});

const ADDRESS = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
const NONCE = `0x${"F3".repeat(32)}` as const;

test.each([
  [AUTHORIZATION_USED, "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)"],
  [AUTHORIZATION_CANCELED, "event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)"],
])("%s is the topic of %s", (topic, event) => {
  expect(topic).toBe(toEventSelector(event));
});

test("the call for a nonce's state equals viem's", () => {
  const args = [ADDRESS, NONCE] as const;
  const ours = encodeAuthorizationState(ADDRESS, NONCE);
  const abi = parseAbi(["function authorizationState(address authorizer, bytes32 nonce) view returns (bool)"]);
  expect(ours).toBe(encodeFunctionData({ abi, args }).toLowerCase());
});
