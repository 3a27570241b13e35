/**
 * Reads what facilitators really send: `snake_case` reasons, missing fields, nulls. Anything that does not say clearly
 * how the call ended is not an answer.
 *
 * @see `docs/background/protocol-notes.md`, "The wire"
 * @module
 */
import { type Draft, put } from "../draft.js";
import { type ExtensionResponses, readExtensionResponses } from "../protocol/extension-responses.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { SupportedKind, SupportedResponse } from "../protocol/supported-response.js";
import type { VerifyResponse } from "../protocol/verify-response.js";

/** Reads an answer to `verify`; `undefined` when it is none. Total. */
export function readVerifyResponse(value: unknown): VerifyResponse | undefined {
  if (!isJsonObject(value)) return undefined;
  const isValid = value["isValid"] ?? value["is_valid"];
  if (typeof isValid !== "boolean") return undefined;
  const read: Draft<VerifyResponse> = { isValid };
  put(read, "invalidReason", text(value["invalidReason"]) ?? text(value["invalid_reason"]));
  put(read, "invalidMessage", text(value["invalidMessage"]) ?? text(value["invalid_message"]));
  put(read, "payer", text(value["payer"]));
  put(read, "extensionResponses", outcomes(value));
  return read;
}

/**
 * Reads an answer to `settle`; `undefined` when it is none. Total.
 *
 * @param network - Filled in where the answer leaves it out or empty.
 */
export function readSettlementResponse(value: unknown, network: string): SettlementResponse | undefined {
  if (!isJsonObject(value)) return undefined;
  const { success } = value;
  const transaction = text(value["transaction"]) ?? "";
  if (typeof success !== "boolean") return undefined;
  const read: Draft<SettlementResponse> = { success, transaction, network: text(value["network"]) || network };
  put(read, "errorReason", text(value["errorReason"]) ?? text(value["error_reason"]));
  put(read, "errorMessage", text(value["errorMessage"]) ?? text(value["error_message"]));
  put(read, "payer", text(value["payer"]));
  put(read, "amount", text(value["amount"]));
  put(read, "extensionResponses", outcomes(value));
  return read;
}

/** A facilitator in this process says it here; some say it in their documents, too. */
function outcomes(value: JsonObject): ExtensionResponses | undefined {
  return readExtensionResponses(value["extensionResponses"]) ?? readExtensionResponses(value["extensions"]);
}

/** Reads an answer to `supported`; kinds that are not of the protocol's form are left out. Total. */
export function readSupportedResponse(value: unknown): SupportedResponse | undefined {
  if (!isJsonObject(value) || !Array.isArray(value["kinds"])) return undefined;
  const { extensions, signers } = value;
  return {
    kinds: value["kinds"].flatMap(readKind),
    extensions: texts(extensions),
    signers: isJsonObject(signers)
      ? Object.fromEntries(Object.entries(signers).map(([pattern, addresses]) => [pattern, texts(addresses)]))
      : {},
  };
}

function readKind(kind: unknown): SupportedKind[] {
  if (!isJsonObject(kind)) return [];
  const { x402Version, scheme, network, extra } = kind;
  if (typeof x402Version !== "number" || typeof scheme !== "string" || typeof network !== "string") return [];
  return [{ x402Version, scheme, network, ...(isJsonObject(extra) ? { extra } : {}) }];
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
