/** Every field of a request, changed one at a time: refused with a reason of the protocol, and no money moves. */
import type { FacilitatorRequest, FacilitatorScheme } from "@farebox/core";
import { createFacilitator, type LocalFacilitator } from "@farebox/facilitator";
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isKnownReason } from "./reasons.js";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.js";
import { AMOUNT, newAddress, openStage, payloadOf, type Stage } from "./stage.js";

let stage: Stage;
let proxy: RpcProxy;
let scheme: FacilitatorScheme;
let facilitator: LocalFacilitator;
let payment: FacilitatorRequest;

beforeAll(async () => {
  stage = await openStage();
  proxy = await startRpcProxy(stage.chain.rpcUrl);
  scheme = stage.scheme({ privateKey: await stage.signer(), rpcUrl: proxy.url });
  facilitator = createFacilitator({ schemes: [scheme] });
  payment = await stage.payment();
});

afterAll(async () => {
  await proxy.close();
  await stage.close();
});

type Path = readonly string[];
type Json = Record<string, unknown>;

const MISSING = Symbol("missing");
const TWO_256 = (2n ** 256n).toString();

/** The fields, each with its kind, which says how to change it. */
type Kind = "object" | "version" | "text" | "address" | "number" | "bytes" | "seconds";

const FIELDS: readonly (readonly [kind: Kind, path: string])[] = [
  ["version", "x402Version"],
  ["object", "paymentPayload"],
  ["object", "paymentRequirements"],
  ["version", "paymentPayload.x402Version"],
  ["object", "paymentPayload.accepted"],
  ["object", "paymentPayload.payload"],
  ["text", "paymentPayload.accepted.scheme"],
  ["text", "paymentPayload.accepted.network"],
  ["address", "paymentPayload.accepted.asset"],
  ["address", "paymentPayload.accepted.payTo"],
  ["number", "paymentPayload.accepted.amount"],
  ["bytes", "paymentPayload.payload.signature"],
  ["object", "paymentPayload.payload.authorization"],
  ["address", "paymentPayload.payload.authorization.from"],
  ["address", "paymentPayload.payload.authorization.to"],
  ["number", "paymentPayload.payload.authorization.value"],
  ["number", "paymentPayload.payload.authorization.validAfter"],
  ["number", "paymentPayload.payload.authorization.validBefore"],
  ["bytes", "paymentPayload.payload.authorization.nonce"],
  ["text", "paymentRequirements.scheme"],
  ["text", "paymentRequirements.network"],
  ["number", "paymentRequirements.amount"],
  ["address", "paymentRequirements.asset"],
  ["address", "paymentRequirements.payTo"],
  ["seconds", "paymentRequirements.maxTimeoutSeconds"],
  ["object", "paymentRequirements.extra"],
  ["text", "paymentRequirements.extra.name"],
  ["text", "paymentRequirements.extra.version"],
];

/** Changes to a value of each kind. Each result differs from the value. */
function changesOf(kind: Kind, value: unknown): readonly unknown[] {
  const wrongTypes = [MISSING, null, true, false, [], [value], "", "null", { value }, Number.NaN, -1, 0];
  const text = String(value);
  const spoilt = [` ${text}`, `${text} `, `${text}\n`, `\t${text}`, `${text}\u0000`, `${text}${text}`, text.slice(1)];
  switch (kind) {
    case "object":
      return [...wrongTypes, {}, "x".repeat(100_000), 7];
    case "version":
      return [...wrongTypes, 1, 3, 2.5, "2", "0x2", { valueOf: 2 }];
    case "text":
      return [...wrongTypes, ...spoilt, text.toUpperCase(), `${text}x`, 7, "__proto__"].filter((one) => one !== value);
    case "address":
      return [...wrongTypes, ...spoilt, newAddress(), text.slice(0, -1), `${text}0`, text.replace("0x", "0X"), ZERO, 7];
    case "number":
      return [...wrongTypes, ...spoilt, ...NOT_NUMBERS, Number(text), `0${text}`, `+${text}`, `${text}.0`, TWO_256];
    case "bytes":
      return [...wrongTypes, ...spoilt, text.slice(0, -1), text.slice(0, -2), `${text}00`, text.replace("0x", "0X"), 7];
    case "seconds":
      return [MISSING, null, true, [], [60], "", "60", {}, Number.NaN, -1, 0, Number.POSITIVE_INFINITY];
    default:
      return kind satisfies never;
  }
}

const ZERO = `0x${"0".repeat(40)}`;
const NOT_NUMBERS = [
  "1e3",
  "-1",
  "0x10",
  " 1",
  "١",
  "１",
  "1_000",
  "1,000",
  "1n",
  "Infinity",
  "NaN",
  "9".repeat(5_000),
];

function change(request: FacilitatorRequest, path: Path, value: unknown): FacilitatorRequest {
  // Not structuredClone: it would keep `accepted` and `paymentRequirements` the same object.
  const copy: unknown = JSON.parse(JSON.stringify(request));
  let parent = copy as Json;
  for (const key of path.slice(0, -1)) parent = parent[key] as Json;
  const last = path.at(-1) as string;
  if (value === MISSING) delete parent[last];
  else parent[last] = value;
  return copy as FacilitatorRequest;
}

function valueAt(request: FacilitatorRequest, path: Path): unknown {
  return path.reduce<unknown>((value, key) => (value as Json)[key], request);
}

/** Reasons that only the chain can give, and the one for a payment that may have been carried out before it expired. */
const ASKED = new Set([
  "invalid_exact_evm_payload_signature",
  "invalid_exact_evm_payload_authorization_valid_before",
  "invalid_transaction_state",
  "insufficient_funds",
]);

describe.each(FIELDS)("a changed %s", (kind, name) => {
  const path = name.split(".");

  test(`a payment with another ${name} is refused, by the scheme and by the facilitator`, async () => {
    const wrong: unknown[] = [];
    for (const value of changesOf(kind, valueAt(payment, path))) {
      const request = change(payment, path, value);
      const before = proxy.calls.length;
      const reasons = [
        (await scheme.verify(request)).invalidReason,
        (await scheme.settle(request)).errorReason,
        (await facilitator.verify(request)).invalidReason,
        (await facilitator.settle(request)).errorReason,
      ];
      const hasAsked = proxy.calls.length > before;
      const isRefused = reasons.every(isKnownReason) && reasons[0] === reasons[1];
      if (!isRefused || (hasAsked && !ASKED.has(String(reasons[0])))) wrong.push({ value, reasons, hasAsked });
    }
    expect(wrong).toEqual([]);
  });
});

describe("a harmless change", () => {
  const HARMLESS: readonly {
    readonly why: string;
    readonly path: string;
    readonly write: (value: unknown) => unknown;
  }[] = [
    { why: "an address in capitals", path: "paymentRequirements.payTo", write: capitals },
    { why: "a token in capitals", path: "paymentPayload.accepted.asset", write: capitals },
    { why: "a payer in capitals", path: "paymentPayload.payload.authorization.from", write: capitals },
    { why: "a nonce in capitals", path: "paymentPayload.payload.authorization.nonce", write: capitals },
    { why: "another deadline", path: "paymentRequirements.maxTimeoutSeconds", write: () => 0.5 },
    {
      why: "the transfer method by its name",
      path: "paymentRequirements.extra.assetTransferMethod",
      write: () => "eip3009",
    },
    { why: "an echo without extra", path: "paymentPayload.accepted.extra", write: () => MISSING },
    { why: "an unknown field", path: "paymentRequirements.outputSchema", write: () => ({ a: [1] }) },
    { why: "a resource that is nonsense", path: "paymentPayload.resource", write: () => 17 },
    { why: "extensions that are nonsense", path: "paymentPayload.extensions", write: () => ["x"] },
  ];

  test.each(HARMLESS)("$why changes nothing", async ({ path, write }) => {
    const keys = path.split(".");
    const request = change(payment, keys, write(valueAt(payment, keys)));
    expect(await facilitator.verify(request)).toMatchObject({ isValid: true });
  });

  test("the amount of accepted may have its older name", async () => {
    const { amount, ...accepted } = payment.paymentPayload.accepted;
    const older = { ...accepted, maxAmountRequired: amount };
    const request = change(payment, ["paymentPayload", "accepted"], older);
    expect(await facilitator.verify(request)).toMatchObject({ isValid: true });
  });

  test.each(["erc7710", "", 3, {}])("the transfer method %j is refused", async (method) => {
    const request = change(payment, ["paymentRequirements", "extra", "assetTransferMethod"], method);
    expect(await facilitator.verify(request)).toMatchObject({ invalidReason: "invalid_payment_requirements" });
  });
});

test("refused payments move nothing, and the unchanged payment still settles", async () => {
  const { from, to } = payloadOf(payment).authorization;
  expect(await stage.client.getTransactionCount({ address: scheme.signers[0] as Hex })).toBe(0);
  expect(await stage.chain.balanceOf(from as Hex)).toBe(AMOUNT);
  expect(await stage.chain.balanceOf(to as Hex)).toBe(0n);
  expect(await facilitator.settle(payment)).toMatchObject({ success: true, amount: String(AMOUNT) });
});

function capitals(value: unknown): string {
  return `0x${String(value).slice(2).toUpperCase()}`;
}
