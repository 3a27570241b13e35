/**
 * The documents of the protocol: the challenge, the payment, and the facilitator's responses.
 *
 * @see x402 v2 §5 and §7
 *
 * @module
 */
import { isJsonObject } from "./json.js";

/** One way to pay, exactly as the protocol has it: seven fields. This is the only form that facilitators get. */
export interface PaymentRequirements {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** CAIP-2, e.g. `eip155:84532`. */
  readonly network: string;
  /** Atomic units as a decimal string, e.g. `"10000"` for 0.01 of an asset with 6 decimals. */
  readonly amount: string;
  /** Token contract or mint. */
  readonly asset: string;
  readonly payTo: string;
  /** How long a payment may take from challenge to settlement. */
  readonly maxTimeoutSeconds: number;
  /** What the scheme needs besides, e.g. the EIP-712 domain of the token: `{ name: "USDC", version: "2" }`. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/**
 * What a client sends back as `accepted`. Clients in other languages drop unknown fields and an empty `extra`, and some
 * know the amount under its older name, so only what identifies an offer is required here.
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

/** The resource that a challenge, and the payment that answers it, are about. */
export interface ResourceInfo {
  /** Absolute URL, e.g. `https://api.example.com/weather/paris`; an MCP tool has `mcp://tool/<name>`. */
  readonly url: string;
  /** At most 500 characters: facilitators refuse to verify a payment for a longer one. */
  readonly description?: string;
  /** Media type of the answer, e.g. `application/json`. */
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
 * An offer as clients see it: the seven fields of the protocol, and the fields by which older documents and catalogs
 * describe the same thing. The extra fields are left out when the header would grow too large for common proxies.
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
    readonly output: Readonly<Record<string, unknown>> | null;
  };
}

/** The challenge: why payment is needed, for what, and the ways to pay, best first. */
export interface PaymentRequired {
  readonly x402Version: 2;
  readonly error?: string;
  readonly resource: ResourceInfo;
  readonly accepts: readonly AdvertisedRequirements[];
  readonly extensions?: Extensions;
}

/** A payment as a client sends it. Everything in it is a stranger's word. */
export interface PaymentPayload {
  readonly x402Version: 2;
  readonly accepted: AcceptedRequirements;
  /** What the scheme makes of it; only the scheme knows its shape. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** The client's echo of the challenge's resource. Never trusted, never passed on. */
  readonly resource?: unknown;
  /** The client's echo of the challenge's extensions, with its additions. */
  readonly extensions?: Readonly<Record<string, unknown>> | null;
}

/** A payment as a facilitator gets it: the scheme's payload is the client's, everything else is ours. */
export interface CanonicalPayment {
  readonly x402Version: 2;
  readonly accepted: PaymentRequirements;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly resource?: ResourceInfo;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** `success`: it was listed. `processing`: it will be, or not. */
export type ExtensionStatus = "success" | "processing" | "rejected";

/** What has become of one declaration. */
export interface ExtensionOutcome {
  readonly status: ExtensionStatus;
  /** Why it was rejected: at most 200 printable ASCII characters, a facilitator's own words. */
  readonly rejectedReason?: string;
}

/** Outcomes by extension, e.g. `{ bazaar: { status: "success" } }`. */
export type ExtensionResponses = Readonly<Record<string, ExtensionOutcome>>;

const MAX_REASON = 200;

/** A facilitator that knows more extensions than this is not listened to further. */
const MAX_EXTENSIONS = 16;

const KEY = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

/** Reads outcomes, known fields only; `undefined` when there is none. Total. */
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

/** Whether a payment would settle if it were settled now. */
export interface VerifyResponse {
  readonly isValid: boolean;
  /** Why not; a protocol string such as `insufficient_funds`. */
  readonly invalidReason?: string;
  /** Prose for a log. Not passed on to clients. */
  readonly invalidMessage?: string;
  readonly payer?: string;
  /** What has become of our declarations. In HTTP a header of its own. */
  readonly extensionResponses?: ExtensionResponses;
}

/** How a settlement ended. */
export interface SettlementResponse {
  readonly success: boolean;
  /** Why not; a protocol string. Absent on success. */
  readonly errorReason?: string;
  /** Prose for a log. Not passed on to clients. */
  readonly errorMessage?: string;
  readonly payer?: string;
  /** Transaction hash; `""` when there is none. */
  readonly transaction: string;
  /** CAIP-2. */
  readonly network: string;
  /** Atomic units that were moved. */
  readonly amount?: string;
  /** What has become of our declarations. In HTTP a header of its own; never part of a receipt. */
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

/** What a facilitator supports. */
export interface SupportedResponse {
  readonly kinds: readonly SupportedKind[];
  /** Identifiers of extensions, e.g. `bazaar`. */
  readonly extensions: readonly string[];
  /** Signer addresses by CAIP-2 pattern, e.g. `{ "eip155:*": ["0x…"] }`. */
  readonly signers: Readonly<Record<string, readonly string[]>>;
}
