/**
 * The documents of the protocol: the challenge, the payment, and the facilitator's responses.
 *
 * @see x402 v2 §5 and §7
 * @module
 */
import { isJsonObject } from "./json.js";

/** An offer as the protocol defines it, with seven fields. Facilitators get no other form. */
export interface PaymentRequirements {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** CAIP-2, e.g. `eip155:84532`. */
  readonly network: string;
  /** Atomic units as a decimal string, e.g. `"10000"` for 0.01 of an asset with 6 decimals. */
  readonly amount: string;
  /** Token contract, mint or asset id. */
  readonly asset: string;
  readonly payTo: string;
  /** The time a payment may take from challenge to settlement. */
  readonly maxTimeoutSeconds: number;
  /** Further fields of the scheme, e.g. the EIP-712 domain of the token: `{ name: "USDC", version: "2" }`. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/**
 * The offer that a client accepted. Only the fields that identify an offer are required: some clients drop unknown fields or an empty
 * `extra`, or use the older name of the amount.
 */
export interface AcceptedRequirements {
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  readonly amount?: string;
  readonly maxAmountRequired?: string;
  readonly extra?: Readonly<Record<string, unknown>> | null;
}

/** The resource of a challenge, and of a payment for it. */
export interface ResourceInfo {
  /** Absolute URL, e.g. `https://api.example.com/weather/paris`; an MCP tool has `mcp://tool/<name>`. */
  readonly url: string;
  /** At most 500 characters: facilitators refuse to verify a payment for a longer one. */
  readonly description?: string;
  /** Media type of the response, e.g. `application/json`. */
  readonly mimeType?: string;
  /** For catalogs: 1 to 32 printable ASCII characters. */
  readonly serviceName?: string;
  /** For catalogs: at most 5, each like the name. */
  readonly tags?: readonly string[];
  /** For catalogs: an http or https URL of at most 2048 characters. */
  readonly iconUrl?: string;
}

/** One extension as a seller declares it: the data, and the JSON Schema of the data. */
export interface ExtensionDeclaration {
  readonly info: Readonly<Record<string, unknown>>;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/** Declarations by identifier, e.g. `{ bazaar: { info, schema } }`. */
export type Extensions = Readonly<Record<string, ExtensionDeclaration>>;

/**
 * An offer as clients get it: the seven fields of the protocol, and fields with the same content for older clients and catalogs. The
 * latter are left out when the header would be too large for common proxies.
 */
export interface AdvertisedRequirements extends PaymentRequirements {
  /** Same as `amount`, under its older name. */
  readonly maxAmountRequired?: string;
  /** Same as the challenge's `resource.url`. */
  readonly resource?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly outputSchema?: {
    readonly input: Readonly<Record<string, unknown>>;
    /** Absent only where the header is too long. */
    readonly output?: Readonly<Record<string, unknown>> | null;
  };
}

/** The challenge: the reason, the resource, and the offers, preferred first. */
export interface PaymentRequired {
  readonly x402Version: 2;
  readonly error?: string;
  readonly resource: ResourceInfo;
  readonly accepts: readonly AdvertisedRequirements[];
  readonly extensions?: Extensions;
}

/** A payment as a client sends it. Nothing in it is trusted. */
export interface PaymentPayload {
  readonly x402Version: 2;
  readonly accepted: AcceptedRequirements;
  /** The scheme's part. Only the scheme knows its shape. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** The client's copy of the challenge's resource. Never passed on. */
  readonly resource?: unknown;
  /** The client's copy of the challenge's extensions, with its additions. */
  readonly extensions?: Readonly<Record<string, unknown>> | null;
}

/** A payment as a facilitator gets it. `payload` has what the scheme has read of the client's; Farebox writes the rest. */
export interface CanonicalPayment {
  readonly x402Version: 2;
  readonly accepted: PaymentRequirements;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly resource?: ResourceInfo;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** `success`: it was listed. `processing`: not decided yet. `rejected`: it will not be listed. */
export type ExtensionStatus = "success" | "processing" | "rejected";

/** A facilitator's report on one declared extension. */
export interface ExtensionOutcome {
  readonly status: ExtensionStatus;
  /** The facilitator's reason, at most 200 printable ASCII characters. */
  readonly rejectedReason?: string;
}

/** Outcomes by extension, e.g. `{ bazaar: { status: "success" } }`. */
export type ExtensionResponses = Readonly<Record<string, ExtensionOutcome>>;

const MAX_REASON = 200;

/** Further extensions of a facilitator are ignored. */
const MAX_EXTENSIONS = 16;

const KEY = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

/** Reads reports, known fields only. `undefined` if there is no valid one. Never throws. */
export function readExtensionResponses(value: unknown): ExtensionResponses | undefined {
  if (!isJsonObject(value)) return undefined;
  const outcomes = Object.entries(value).flatMap(([key, outcome]): [string, ExtensionOutcome][] => {
    const read = KEY.test(key) ? readOutcome(outcome) : undefined;
    return read === undefined ? [] : [[key, read]];
  });
  return outcomes.length === 0 ? undefined : Object.freeze(Object.fromEntries(outcomes.slice(0, MAX_EXTENSIONS)));
}

function readOutcome(value: unknown): ExtensionOutcome | undefined {
  if (!isJsonObject(value)) return undefined;
  const { status, rejectedReason, reason } = value;
  if (status !== "success" && status !== "processing" && status !== "rejected") return undefined;
  const said = rejectedReason ?? reason;
  if (status !== "rejected" || typeof said !== "string") return Object.freeze({ status });
  return Object.freeze({ status, rejectedReason: toPrintable(said) });
}

function toPrintable(text: string): string {
  return text
    .slice(0, 4 * MAX_REASON)
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .slice(0, MAX_REASON);
}

/** Whether a payment would settle now. */
export interface VerifyResponse {
  readonly isValid: boolean;
  /** The reason if not, e.g. `insufficient_funds`. */
  readonly invalidReason?: string;
  /** A message for logs. Not passed on to clients. */
  readonly invalidMessage?: string;
  readonly payer?: string;
  /** Reports on declared extensions. In HTTP they have their own header. */
  readonly extensionResponses?: ExtensionResponses;
}

/** How a settlement ended. */
export interface SettlementResponse {
  readonly success: boolean;
  /** The reason if not, e.g. `insufficient_funds`. Absent on success. */
  readonly errorReason?: string;
  /** A message for logs. Not passed on to clients. */
  readonly errorMessage?: string;
  readonly payer?: string;
  /** Transaction hash, or `""` without a transaction. */
  readonly transaction: string;
  /** CAIP-2. */
  readonly network: string;
  /** Atomic units that were moved. */
  readonly amount?: string;
  /** What the facilitator says besides, at most 2048 characters of JSON. On success only. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** What extensions of the seller's added to the receipt, by their identifiers. A facilitator's are not passed on. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** Reports on declared extensions. In HTTP they have their own header, and are never part of a receipt. */
  readonly extensionResponses?: ExtensionResponses;
}

/** One scheme on one concrete network. */
export interface SupportedKind {
  readonly x402Version: number;
  readonly scheme: string;
  /** CAIP-2, never a pattern. */
  readonly network: string;
  /** What an offer of this kind must carry, e.g. `{ feePayer }`. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The schemes, networks and extensions that a facilitator supports. */
export interface SupportedResponse {
  readonly kinds: readonly SupportedKind[];
  /** Identifiers of extensions, e.g. `bazaar`. */
  readonly extensions: readonly string[];
  /** Signer addresses by CAIP-2 pattern, e.g. `{ "eip155:*": ["0x…"] }`. */
  readonly signers: Readonly<Record<string, readonly string[]>>;
}
