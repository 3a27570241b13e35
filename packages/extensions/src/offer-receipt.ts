/**
 * The extension `offer-receipt`: each challenge carries its offers signed by the seller, and each receipt of a payment one more,
 * signed by the seller.
 *
 * Anybody can make a seller sign by asking for a challenge. So a signed offer is used again for half of its validity, few are
 * signed at a time, and none for a host that only the client named.
 *
 * @see x402 v2 extension `offer-receipt`
 * @module
 */
import type {
  CompiledDeclaration,
  DeclarationContext,
  Extension,
  JsonObject,
  PaymentRequirements,
  PricedRequest,
} from "@farebox/core";
import { ConfigError } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import type { OfferReceiptIssuer, SignatureFormat, SignedOffer } from "./offer-issuers.js";
import { HOST_UNKNOWN, hostOfKey, ownUrl, readOrigin, urlOf } from "./own-host.js";

/** The extension's identifier. */
export const OFFER_RECEIPT = "offer-receipt";

/** What a route declares under `extensions["offer-receipt"]`. */
export interface OfferReceiptDeclaration {
  /**
   * Whether the receipt names the transaction. It then shows who paid whom.
   *
   * @example true
   * @defaultValue `false`
   */
  readonly includeTxHash?: boolean | undefined;
  /**
   * How long a signed offer is valid: 1 to 31536000 seconds.
   *
   * @example 600
   * @defaultValue `maxTimeoutSeconds` of the offer
   */
  readonly offerValiditySeconds?: number | undefined;
}

/** Options of {@link createOfferReceiptExtension}. */
export interface OfferReceiptOptions {
  /**
   * The origin of the URLs that are signed.
   *
   * @example "https://api.example.com"
   * @defaultValue that of the resource URL, if the seller set it by `publicUrl`, `allowedHosts`, the route's `resource` or a
   *   `did:web` key identifier, or if it is this very machine; otherwise nothing is signed
   */
  readonly origin?: string;
  /**
   * How many offers may be signed at a time: 1 to 10000. A challenge beyond that carries no signed offers.
   *
   * @example 8
   * @defaultValue 64
   */
  readonly maxSignatures?: number;
}

/** Declares the extension for a route: `extensions: { ...declareOfferReceiptExtension() }`. */
export function declareOfferReceiptExtension(
  declaration: OfferReceiptDeclaration = {},
): Record<string, OfferReceiptDeclaration> {
  // What is wrong with it is told when the route is compiled.
  const isObject = typeof declaration === "object" && declaration !== null;
  const given = isObject ? Object.entries(declaration).filter(([, value]) => value !== undefined) : [];
  return { [OFFER_RECEIPT]: isObject ? Object.fromEntries(given) : declaration };
}

/**
 * Creates the extension.
 *
 * @param issuer - Signs offers and receipts. A signature that takes 5 seconds counts as failed.
 * @throws ConfigError with every issue at once.
 */
export function createOfferReceiptExtension(issuer: OfferReceiptIssuer, options: OfferReceiptOptions = {}): Extension {
  const issues = createIssues();
  if (!isIssuer(issuer)) {
    issues.add("issuer", "an issuer such as createJWSOfferReceiptIssuer(kid, signer)", issuer);
  }
  issues.checkKeys("options", options, ["origin", "maxSignatures"]);
  const origin = readOrigin("options.origin", options.origin, issues);
  const range = { least: 1, most: 10_000, usual: 64 };
  const maxSignatures = issues.readNumber("options.maxSignatures", options.maxSignatures, range);
  if (issues.found.length > 0) throw new ConfigError(issues.found);
  const offers = new SignedOffers(issuer, maxSignatures);
  return {
    key: OFFER_RECEIPT,
    compile: (declaration, context) => compile(declaration, context, issuer, offers, origin),
  };
}

function compile(
  declaration: unknown,
  context: DeclarationContext,
  issuer: OfferReceiptIssuer,
  offers: SignedOffers,
  origin: string | undefined,
): CompiledDeclaration | undefined {
  const declared = readDeclaration(declaration, context);
  if (declared === undefined) return undefined;
  const { includeTxHash = false, offerValiditySeconds } = declared;
  const hosts = [...context.ownHosts, ...hostOfKey(issuer.kid)];
  const toSignedUrl = (url: string, request: PricedRequest | undefined) =>
    ownUrl(url, { hosts, origin, native: request?.native });
  return {
    // Facilitators need no offers, and documents have no moment at which they are valid.
    at: () => undefined,
    notices: origin === undefined && hosts.length === 0 ? [HOST_UNKNOWN] : [],
    dynamicFields: ["offers"],
    async challenge({ resource, offers: accepts, request }) {
      const url = toSignedUrl(resource.url, request);
      if (url === undefined) return undefined;
      const signed = await offers.sign(url, accepts, offerValiditySeconds);
      return signed.length === 0 ? undefined : { info: { offers: signed }, schema: offersSchema(issuer.format) };
    },
    async receipt({ receipt: { payer, network, transaction }, request, payload, payer: signer }) {
      // In the background the payment is the one that the facilitator got, whose resource is the seller's.
      const paidUrl = request?.url ?? urlOf(payload.resource);
      const url = paidUrl === undefined ? undefined : toSignedUrl(paidUrl, request);
      if (url === undefined) return undefined;
      const told = includeTxHash && transaction !== "" ? transaction : undefined;
      const receipt = checked(await issuer.issueReceipt(url, payer ?? signer, network, told));
      return { info: { receipt }, schema: receiptSchema(issuer.format) };
    },
  };
}

function readDeclaration(
  declaration: unknown,
  { path, issues }: DeclarationContext,
): OfferReceiptDeclaration | undefined {
  if (!issues.checkKeys(path, declaration, ["includeTxHash", "offerValiditySeconds"])) return undefined;
  const { includeTxHash, offerValiditySeconds } = declaration as { [key in keyof OfferReceiptDeclaration]: unknown };
  const before = issues.found.length;
  if (includeTxHash !== undefined && typeof includeTxHash !== "boolean") {
    issues.add(`${path}.includeTxHash`, "true or false", includeTxHash);
  }
  const range = { least: 1, most: 31_536_000, usual: 0, unit: "seconds" };
  const seconds = issues.readNumber(`${path}.offerValiditySeconds`, offerValiditySeconds, range);
  if (issues.found.length > before) return undefined;
  return { includeTxHash: includeTxHash === true, offerValiditySeconds: seconds === 0 ? undefined : seconds };
}

function isIssuer(issuer: Partial<OfferReceiptIssuer> | undefined): boolean {
  const { format, issueOffer, issueReceipt } = issuer ?? {};
  const isKnown = format === "jws" || format === "eip712";
  return isKnown && typeof issueOffer === "function" && typeof issueReceipt === "function";
}

/** Offers that are kept. A route with path parameters has as many URLs as a client can think of. */
const MAX_KEPT = 1000;
/** A signer that hangs must not keep its place. */
const SIGNATURE_MS = 5_000;
const DEFAULT_VALIDITY_SECONDS = 300;

interface Kept {
  readonly signature: Promise<SignedOffer>;
  /** Unix milliseconds. Later it is signed anew. */
  readonly freshUntil: number;
}

/** Signs offers, each once for half of its validity, and a limited number at a time. */
class SignedOffers {
  readonly #issuer: OfferReceiptIssuer;
  readonly #maxSignatures: number;
  /** Least recently used first. */
  readonly #kept = new Map<string, Kept>();
  #running = 0;

  constructor(issuer: OfferReceiptIssuer, maxSignatures: number) {
    this.#issuer = issuer;
    this.#maxSignatures = maxSignatures;
  }

  /**
   * Signs the offers of one challenge. Those whose signature fails are left out.
   *
   * @throws the signer's error if all fail
   */
  async sign(
    url: string,
    accepts: readonly PaymentRequirements[],
    validitySeconds: number | undefined,
  ): Promise<readonly SignedOffer[]> {
    const signatures = accepts.map((offer, at) => this.#signOne(url, offer, at, validitySeconds));
    const results = await Promise.allSettled(signatures.filter((signature) => signature !== undefined));
    const signed = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const [failed] = results;
    if (signed.length === 0 && failed?.status === "rejected") throw failed.reason;
    return signed;
  }

  /** `undefined`: too many signatures at a time. */
  #signOne(
    url: string,
    { scheme, network, asset, payTo, amount, maxTimeoutSeconds }: PaymentRequirements,
    acceptIndex: number,
    validitySeconds: number | undefined,
  ): Promise<SignedOffer> | undefined {
    const offerValiditySeconds = validitySeconds ?? maxTimeoutSeconds ?? DEFAULT_VALIDITY_SECONDS;
    const input = { acceptIndex, scheme, network, asset, payTo, amount, offerValiditySeconds };
    const key = JSON.stringify([url, ...Object.values(input)]);
    const kept = this.#kept.get(key);
    if (kept !== undefined && Date.now() < kept.freshUntil) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept.signature;
    }
    if (this.#running >= this.#maxSignatures) return undefined;
    const signature = this.#run(() => this.#issuer.issueOffer(url, input));
    this.#keep(key, { signature, freshUntil: Date.now() + offerValiditySeconds * 500 });
    return signature;
  }

  async #run(issue: () => Promise<SignedOffer>): Promise<SignedOffer> {
    this.#running++;
    try {
      return checked(await inTime(issue()));
    } finally {
      this.#running--;
    }
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    // A failure is not kept.
    kept.signature.catch(() => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    });
  }
}

/** An issuer of the seller's may return anything. What is too long for a header would keep clients from paying. */
function checked<T extends { readonly signature: string }>(signed: T): T {
  const signature: unknown = signed?.signature;
  if (typeof signature === "string" && /^[\x21-\x7e]{1,4096}$/.test(signature)) return signed;
  throw new TypeError("the issuer returned no signature, or one of more than 4096 characters");
}

async function inTime<T>(signing: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the signer did not respond in 5 seconds")), SIGNATURE_MS);
    timer.unref();
  });
  try {
    return await Promise.race([signing, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Short, as it is in the header of each challenge. The documents themselves are in the specification. */
const SIGNED_SCHEMA = {
  jws: {
    type: "object",
    properties: { format: { const: "jws" }, signature: { type: "string" } },
    required: ["format", "signature"],
  },
  eip712: {
    type: "object",
    properties: { format: { const: "eip712" }, payload: { type: "object" }, signature: { type: "string" } },
    required: ["format", "payload", "signature"],
  },
} as const;

function offersSchema(format: SignatureFormat): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { offers: { type: "array", items: SIGNED_SCHEMA[format] } },
    required: ["offers"],
  };
}

function receiptSchema(format: SignatureFormat): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { receipt: SIGNED_SCHEMA[format] },
    required: ["receipt"],
  };
}
