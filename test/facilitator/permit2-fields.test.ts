/** Every field of a payment by Permit2, changed one at a time: refused with a reason of the protocol, and no money moves. */
import type { FacilitatorRequest, FacilitatorScheme } from "@farebox/core";
import { createFacilitator, type LocalFacilitator } from "@farebox/facilitator";
import fc from "fast-check";
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  balancesOf,
  createAllower,
  createPermitOffer,
  type Kind,
  openScheme,
  permitOf,
  signPermitFor,
} from "./permit2-stage.js";
import { isKnownReason } from "./reasons.js";
import { AMOUNT, newAddress, openStage, type Stage } from "./stage.js";

const KINDS = ["exact", "upto"] as const;
const FACILITATOR = "paymentPayload.payload.permit2Authorization.witness.facilitator";

/** `vitest.config.ts` sets it. */
const seed = Number(process.env["FAREBOX_SEED"]);

let stage: Stage;
let facilitator: LocalFacilitator;
const payments = new Map<Kind, FacilitatorRequest>();

beforeAll(async () => {
  stage = await openStage();
  const privateKey = await stage.signer();
  const schemes: FacilitatorScheme[] = KINDS.map((kind) => openScheme(stage, kind, { privateKey }));
  facilitator = createFacilitator({ schemes });
  for (const kind of KINDS) {
    payments.set(
      kind,
      await signPermitFor(await createAllower(stage, 2n * AMOUNT), createPermitOffer(kind, privateKey)),
    );
  }
});

afterAll(() => stage.close());

type Json = Record<string, unknown>;

/** The fields by their form, which says how to change them. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  object: [
    "paymentPayload",
    "paymentPayload.accepted",
    "paymentPayload.payload",
    "paymentPayload.payload.permit2Authorization",
    "paymentPayload.payload.permit2Authorization.permitted",
    "paymentPayload.payload.permit2Authorization.witness",
    "paymentRequirements",
    "paymentRequirements.extra",
  ],
  address: [
    "paymentPayload.accepted.asset",
    "paymentPayload.accepted.payTo",
    "paymentPayload.payload.permit2Authorization.from",
    "paymentPayload.payload.permit2Authorization.permitted.token",
    "paymentPayload.payload.permit2Authorization.spender",
    "paymentPayload.payload.permit2Authorization.witness.to",
    FACILITATOR,
    "paymentRequirements.asset",
    "paymentRequirements.payTo",
  ],
  number: [
    "paymentPayload.accepted.amount",
    "paymentPayload.payload.permit2Authorization.permitted.amount",
    "paymentPayload.payload.permit2Authorization.nonce",
    "paymentPayload.payload.permit2Authorization.deadline",
    "paymentPayload.payload.permit2Authorization.witness.validAfter",
    "paymentRequirements.amount",
  ],
  text: [
    "paymentPayload.accepted.scheme",
    "paymentPayload.accepted.network",
    "paymentRequirements.scheme",
    "paymentRequirements.network",
  ],
  bytes: ["paymentPayload.payload.signature"],
};

const WRONG = [undefined, null, true, [], {}, "", "null", -1, 0, 1.5];

function changesOf(kind: string, value: unknown): readonly unknown[] {
  const text = String(value);
  const spoilt = [` ${text}`, `${text}\n`, `${text}0`, text.slice(0, -1), [value]];
  switch (kind) {
    case "object":
      return [...WRONG.filter((wrong) => wrong !== undefined || value !== undefined), 7, "x".repeat(10_000)];
    case "address":
      return [...WRONG, ...spoilt, newAddress(), stage.chain.asset.replace("0x", "0X"), `0x${"0".repeat(40)}`];
    case "number": {
      const number = BigInt(text);
      return [
        ...WRONG,
        ...spoilt,
        Number(number),
        String(number + 1n),
        `0${text}`,
        `+${text}`,
        `${text}.0`,
        `${2n ** 256n + number}`,
      ];
    }
    default:
      return [...WRONG, ...spoilt, `${text}x`, `x${text}`, 7];
  }
}

function get(request: unknown, path: string): unknown {
  return path.split(".").reduce((at, key) => (at as Json)[key], request);
}

function change(request: FacilitatorRequest, path: string, value: unknown): FacilitatorRequest {
  const copy = structuredClone(request) as unknown as Json;
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const owner = keys.reduce((at, key) => at[key] as Json, copy);
  if (value === undefined) delete owner[last];
  else owner[last] = value;
  return copy as unknown as FacilitatorRequest;
}

/** Without its method, `exact` means EIP-3009. `upto` cannot be settled for another amount than the terms say. */
const ROWS = KINDS.flatMap((kind) =>
  Object.entries(FIELDS).flatMap(([form, paths]) =>
    paths.filter((path) => kind === "upto" || path !== FACILITATOR).map((path) => ({ kind, form, path })),
  ),
);

describe("a changed field", () => {
  test.each(ROWS)("a payment of $kind with another $path is refused", async ({ kind, form, path }) => {
    const payment = payments.get(kind)!;
    const value = get(payment, path);
    for (const other of changesOf(form, value)) {
      if (isHarmless(kind, path, other)) continue;
      const request = change(payment, path, other);
      const what = `${path} = ${JSON.stringify(other)}`.slice(0, 120);
      const verified = await facilitator.verify(request);
      expect(verified.isValid, what).toBe(false);
      expect(isKnownReason(verified.invalidReason), `${what}: ${verified.invalidReason}`).toBe(true);
      if (isLess(kind, path, other)) continue;
      const settled = await facilitator.settle(request);
      expect(settled, what).toMatchObject({ success: false, transaction: "" });
      expect(isKnownReason(settled.errorReason), `${what}: ${settled.errorReason}`).toBe(true);
    }
  });

  test.each(KINDS)("a changed payment of %s has moved nothing", async (kind) => {
    expect(await balancesOf(stage, payments.get(kind)!)).toEqual([2n * AMOUNT, 0n]);
  });
});

/** For `upto`, a facilitator needs nothing in `extra`: the payer's signature binds. */
function isHarmless(kind: Kind, path: string, value: unknown): boolean {
  return (
    kind === "upto" &&
    path === "paymentRequirements.extra" &&
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value)
  );
}

/** `upto` may settle for less than the maximum. */
function isLess(kind: Kind, path: string, value: unknown): boolean {
  return (
    kind === "upto" &&
    path === "paymentRequirements.amount" &&
    typeof value === "string" &&
    /^(0|[1-9]\d{0,2})$/.test(value) &&
    BigInt(value) <= AMOUNT
  );
}

test.each(KINDS)(
  `a payment of %s with any change to the signed message moves no money (seed ${seed})`,
  async (kind) => {
    const payment = payments.get(kind)!;
    const before = await balancesOf(stage, payment);
    const { permit2Authorization, signature } = permitOf(payment);
    const paths = Object.values(FIELDS)
      .flat()
      .filter(
        (path) =>
          path.includes("permit2Authorization.") &&
          get(payment, path) !== undefined &&
          typeof get(payment, path) !== "object",
      );
    const value = fc.oneof(
      fc.anything(),
      fc.bigInt({ min: 0n, max: 2n ** 256n }).map(String),
      fc.integer({ min: 0, max: 15 }).map((digit) => `0x${digit.toString(16).repeat(40)}`),
      fc.constantFrom(signature, permit2Authorization.from, permit2Authorization.nonce, permit2Authorization.deadline),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), value, async (path, some) => {
        if (some === get(payment, path) || some === (get(payment, path) as Hex).toLowerCase()) return;
        const response = await facilitator.settle(change(payment, path, some));
        expect(response.success).toBe(false);
        expect(isKnownReason(response.errorReason)).toBe(true);
      }),
      { seed, numRuns: 50 },
    );
    expect(await balancesOf(stage, payment)).toEqual(before);
  },
);

test.each(KINDS)(`any payload for %s gets a reason of the protocol (seed ${seed})`, async (kind) => {
  const { paymentPayload, paymentRequirements } = payments.get(kind)!;
  const part = (value: unknown) => fc.oneof(fc.jsonValue(), fc.constant(value), fc.constant(JSON.parse("{}")));
  const payload = fc.record({
    signature: part(permitOf(payments.get(kind)!).signature),
    permit2Authorization: fc.jsonValue(),
  });
  const request = fc.record({
    x402Version: fc.constant(2),
    paymentPayload: fc.record({
      x402Version: fc.constant(2),
      accepted: part(paymentPayload.accepted),
      payload: fc.oneof(payload, fc.jsonValue()),
      extensions: fc.oneof(fc.jsonValue(), fc.record({ eip2612GasSponsoring: fc.jsonValue() })),
    }),
    paymentRequirements: part(paymentRequirements),
  });
  await fc.assert(
    fc.asyncProperty(request, async (some) => {
      const { isValid, invalidReason } = await facilitator.verify(some as unknown as FacilitatorRequest);
      expect([isValid, isKnownReason(invalidReason)]).toEqual([false, true]);
      const { success, errorReason } = await facilitator.settle(some as unknown as FacilitatorRequest);
      expect([success, isKnownReason(errorReason)]).toEqual([false, true]);
    }),
    { seed, numRuns: 50 },
  );
});

test.each(KINDS)("the unchanged payment of %s settles", async (kind) => {
  expect(await facilitator.settle(payments.get(kind)!)).toMatchObject({ success: true, amount: String(AMOUNT) });
});
