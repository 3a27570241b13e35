/**
 * What a payment was asked to pay, as a catalog says it.
 *
 * @module
 */
import { isJsonObject, isNetwork, type JsonObject } from "@farebox/core";
import { problemOfJson } from "./json-limits.js";
import type { RegisteredOffer } from "./registration.js";

const AMOUNT = /^\d{1,78}$/;
const SHORT = 256;
const EXTRA_LIMITS = { bytes: 2_048, depth: 8, values: 200 };

/**
 * Reads the requirements of a request; `undefined` when they are none. To settle `upto`, the requirements have what is
 * taken this time, and only `accepted` still has the most that can be.
 */
export function readOffer({ paymentPayload, paymentRequirements }: JsonObject): RegisteredOffer | undefined {
  const required = readTerms(paymentRequirements);
  const accepted = isJsonObject(paymentPayload) ? readTerms(paymentPayload["accepted"]) : undefined;
  if (required?.scheme !== "upto" || accepted === undefined) return required;
  const isSame = (["scheme", "network", "asset", "payTo"] as const).every((name) => required[name] === accepted[name]);
  return isSame ? accepted : required;
}

function readTerms(terms: unknown): RegisteredOffer | undefined {
  if (!isJsonObject(terms)) return undefined;
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = terms;
  const amount = terms["amount"] ?? terms["maxAmountRequired"];
  if (!isShort(scheme) || !isNetwork(network) || !isShort(asset) || !isShort(payTo)) return undefined;
  if (typeof amount !== "string" || !AMOUNT.test(amount)) return undefined;
  return {
    scheme,
    network,
    asset,
    payTo,
    amount,
    maxTimeoutSeconds: typeof maxTimeoutSeconds === "number" && maxTimeoutSeconds >= 0 ? maxTimeoutSeconds : 0,
    extra: readExtra(extra),
  };
}

function readExtra(extra: unknown): JsonObject {
  if (!isJsonObject(extra) || problemOfJson(extra, EXTRA_LIMITS) !== undefined) return {};
  return JSON.parse(JSON.stringify(extra)) as JsonObject;
}

function isShort(value: unknown): value is string {
  return (
    typeof value === "string" && value.length > 0 && value.length <= SHORT && !/[\p{Cc}\p{Surrogate}]/u.test(value)
  );
}
