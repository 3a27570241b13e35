/**
 * Issuers of signed offers and receipts: as JWS, or as EIP-712 typed data. The seller's key stays behind a function that signs.
 *
 * @see x402 v2 extension `offer-receipt`, §3 to §5
 * @module
 */

import type { JsonObject } from "@farebox/core";
import { createIssues, type Issues } from "@farebox/core/issues";

/** How offers and receipts are signed. */
export type SignatureFormat = "jws" | "eip712";

/** The terms of one offer, as the seller signs them. */
export interface OfferPayload {
  /** Version of this document: 1. */
  readonly version: number;
  readonly resourceUrl: string;
  readonly scheme: string;
  /** CAIP-2. */
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** Atomic units. */
  readonly amount: string;
  /** Unix seconds. */
  readonly validUntil: number;
}

/** A paid request, as the seller signs it. */
export interface ReceiptPayload {
  /** Version of this document: 1. */
  readonly version: number;
  /** CAIP-2. */
  readonly network: string;
  readonly resourceUrl: string;
  readonly payer: string;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** Transaction hash. `""` or absent: not told. */
  readonly transaction?: string;
}

/** A signed offer. The payload of a JWS is inside of its signature. */
export type SignedOffer =
  | { readonly format: "jws"; readonly acceptIndex?: number; readonly signature: string }
  | {
      readonly format: "eip712";
      readonly acceptIndex?: number;
      readonly payload: OfferPayload;
      readonly signature: string;
    };

/** A signed receipt. The payload of a JWS is inside of its signature. */
export type SignedReceipt =
  | { readonly format: "jws"; readonly signature: string }
  | { readonly format: "eip712"; readonly payload: ReceiptPayload; readonly signature: string };

/** The offer to sign. */
export interface OfferInput {
  /** Its position in `accepts`. Not signed. */
  readonly acceptIndex: number;
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  readonly amount: string;
  /** Default 300. */
  readonly offerValiditySeconds?: number;
}

/** Signs offers and receipts. {@link createJWSOfferReceiptIssuer} and {@link createEIP712OfferReceiptIssuer} create one. */
export interface OfferReceiptIssuer {
  /** Key identifier, a DID URL. */
  readonly kid: string;
  readonly format: SignatureFormat;
  issueOffer(resourceUrl: string, input: OfferInput): Promise<SignedOffer>;
  issueReceipt(resourceUrl: string, payer: string, network: string, transaction?: string): Promise<SignedReceipt>;
}

/** Signs bytes for a JWS. */
export interface JWSSigner {
  /** Default: the issuer's. */
  readonly kid?: string;
  readonly format?: "jws";
  /**
   * JWS algorithm.
   *
   * @example "ES256K"
   */
  readonly algorithm: string;
  /** Returns the signature in base64url. */
  sign(payload: Uint8Array): Promise<string>;
}

/** EIP-712 typed data to sign, in the form of viem's `signTypedData`. */
export interface TypedDataToSign {
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number };
  readonly types: Record<string, { name: string; type: string }[]>;
  readonly primaryType: string;
  readonly message: Record<string, unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: wallets declare their parameters in more detail than each other can take
export type SignTypedDataFn = (data: any) => Promise<string>;

const VERSION = 1;
const DEFAULT_VALIDITY_SECONDS = 300;

/**
 * Creates an issuer that signs as JWS. Clients find the key by its `kid`, e.g. `did:web:api.example.com#key-1`.
 *
 * @throws ConfigError with every issue at once.
 */
export function createJWSOfferReceiptIssuer(kid: string, jwsSigner: JWSSigner): OfferReceiptIssuer {
  const { algorithm, sign }: Partial<JWSSigner> = Object(jwsSigner);
  checkIssuer(kid, (issues) => {
    if (typeof algorithm !== "string") issues.add("jwsSigner.algorithm", 'a name such as "EdDSA"', algorithm);
    if (typeof sign !== "function") issues.add("jwsSigner.sign", "a function", sign);
  });
  return {
    kid,
    format: "jws",
    async issueOffer(resourceUrl, input) {
      const signature = await signJws(offerPayload(resourceUrl, input), kid, jwsSigner);
      return { format: "jws", acceptIndex: input.acceptIndex, signature };
    },
    async issueReceipt(resourceUrl, payer, network, transaction) {
      const payload = receiptPayload(resourceUrl, payer, network);
      const whole = transaction ? { ...payload, transaction } : payload;
      return { format: "jws", signature: await signJws(whole, kid, jwsSigner) };
    },
  };
}

/**
 * Creates an issuer that signs EIP-712 typed data. Clients recover the address of the key, often that of `payTo`.
 *
 * @throws ConfigError with every issue at once.
 */
export function createEIP712OfferReceiptIssuer(kid: string, signTypedData: SignTypedDataFn): OfferReceiptIssuer {
  checkIssuer(kid, (issues) => {
    if (typeof signTypedData !== "function") issues.add("signTypedData", "a function", signTypedData);
  });
  return {
    kid,
    format: "eip712",
    async issueOffer(resourceUrl, input) {
      const payload = offerPayload(resourceUrl, input);
      const signature = asHex(await signTypedData(typedOffer(payload)));
      return { format: "eip712", acceptIndex: input.acceptIndex, payload, signature };
    },
    async issueReceipt(resourceUrl, payer, network, transaction = "") {
      const payload = { ...receiptPayload(resourceUrl, payer, network), transaction };
      return { format: "eip712", payload, signature: asHex(await signTypedData(typedReceipt(payload))) };
    },
  };
}

function checkIssuer(kid: unknown, checkSigner: (issues: Issues) => void): void {
  const issues = createIssues();
  if (typeof kid !== "string" || kid === "")
    issues.add("kid", "the id of a key, such as did:web:api.example.com#key-1", kid);
  checkSigner(issues);
  issues.throwIfAny();
}

/** A signature longer than this is not one, and would fill the header that it is in. */
function asHex(signature: unknown): string {
  if (typeof signature === "string" && /^0x[0-9a-f]{2,2048}$/i.test(signature)) return signature;
  throw new TypeError("the signer returned no signature in hex");
}

function offerPayload(resourceUrl: string, input: OfferInput): OfferPayload {
  const { scheme, network, asset, payTo, amount, offerValiditySeconds = DEFAULT_VALIDITY_SECONDS } = input;
  const validUntil = nowSeconds() + offerValiditySeconds;
  return { version: VERSION, resourceUrl, scheme, network, asset, payTo, amount, validUntil };
}

function receiptPayload(resourceUrl: string, payer: string, network: string): ReceiptPayload {
  return { version: VERSION, network, resourceUrl, payer, issuedAt: nowSeconds() };
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

async function signJws(payload: object, issuerKid: string, signer: JWSSigner): Promise<string> {
  const { algorithm, kid = issuerKid } = signer;
  const input = `${encode(JSON.stringify({ alg: algorithm, kid }))}.${encode(canonicalJson(payload))}`;
  const signature: unknown = await signer.sign(Buffer.from(input, "utf8"));
  if (typeof signature !== "string" || !/^[\w-]{1,1024}$/.test(signature)) {
    throw new TypeError("the signer returned no signature in base64url");
  }
  return `${input}.${signature}`;
}

function encode(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}

/** JCS (RFC 8785) of an object of texts and whole numbers. */
function canonicalJson(flat: object): string {
  const fields = Object.entries(flat as JsonObject).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(Object.fromEntries(fields));
}

const text = (name: string) => ({ name, type: "string" });
const number = (name: string) => ({ name, type: "uint256" });

/** The typed data of an offer. Its chain is always 1: the payload names the network of the payment. */
function typedOffer(payload: OfferPayload): TypedDataToSign {
  const { version, validUntil } = payload;
  return {
    domain: { name: "x402 offer", version: "1", chainId: 1 },
    types: {
      Offer: [
        number("version"),
        text("resourceUrl"),
        text("scheme"),
        text("network"),
        text("asset"),
        text("payTo"),
        text("amount"),
        number("validUntil"),
      ],
    },
    primaryType: "Offer",
    message: { ...payload, version: BigInt(version), validUntil: BigInt(validUntil) },
  };
}

/** The typed data of a receipt. */
function typedReceipt(payload: ReceiptPayload): TypedDataToSign {
  const { version, issuedAt, transaction = "" } = payload;
  return {
    domain: { name: "x402 receipt", version: "1", chainId: 1 },
    types: {
      Receipt: [
        number("version"),
        text("network"),
        text("resourceUrl"),
        text("payer"),
        number("issuedAt"),
        text("transaction"),
      ],
    },
    primaryType: "Receipt",
    message: { ...payload, version: BigInt(version), issuedAt: BigInt(issuedAt), transaction },
  };
}
