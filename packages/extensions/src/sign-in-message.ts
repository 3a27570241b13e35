/**
 * Messages by which a wallet signs in: read from a header, checked, and verified without a node.
 *
 * @see CAIP-122; EIP-4361; x402 v2 extension `sign-in-with-x`
 * @module
 */
import { createIssues } from "@farebox/core/issues";
import { isJsonObject, type JsonObject, parseJson } from "@farebox/core/protocol";
import { isSignedBy, SIGNATURE_BYTES } from "@farebox/core/scheme";
import { isMessageSignedBy, toChecksum } from "@farebox/evm";
import { decodeBase58 } from "@farebox/svm";

/** Networks of Solana, as CAIP-2. */
export const SOLANA_MAINNET = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
export const SOLANA_DEVNET = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
export const SOLANA_TESTNET = "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z";

/** `eip191`: a wallet of an EVM network. `ed25519`: one of Solana. */
export type SignatureType = "eip191" | "ed25519";

/** A signed message, as a client sends it in the header `SIGN-IN-WITH-X`. */
export interface SIWxPayload {
  domain: string;
  address: string;
  statement?: string | undefined;
  uri: string;
  version: string;
  /** CAIP-2. */
  chainId: string;
  type: SignatureType;
  nonce: string;
  issuedAt: string;
  expirationTime?: string | undefined;
  notBefore?: string | undefined;
  requestId?: string | undefined;
  resources?: string[] | undefined;
  signatureScheme?: "eip191" | "eip1271" | "eip6492" | "siws" | undefined;
  signature: string;
}

/** Whether a message is for this server and still valid, and why not. */
export type SIWxValidationResult =
  | { isValid: true }
  | { isValid: false; invalidReason: `invalid_siwx_${string}`; invalidMessage: string };

/** Who signed a message, or why that is not known. */
export type SIWxVerifyResult =
  | { isValid: true; payer: string }
  | { isValid: false; invalidReason: `invalid_siwx_${string}`; invalidMessage: string };

/** Options of {@link validateSIWxMessage}. */
export interface SIWxValidationOptions {
  /** Milliseconds since `issuedAt`. Default 300000. */
  maxAge?: number;
  /** Whether a nonce is acceptable. */
  checkNonce?: (nonce: string) => boolean | Promise<boolean>;
}

/** Options of {@link verifySIWxSignature}. */
export interface SIWxVerifyOptions {
  /** Checks a signature with a node, e.g. `publicClient.verifyMessage` of viem: contract wallets need it. Default: keys only. */
  evmVerifier?: (args: {
    address: `0x${string}`;
    message: string;
    signature: `0x${string}`;
  }) => boolean | Promise<boolean>;
}

const REQUIRED = ["domain", "address", "uri", "version", "chainId", "type", "nonce", "issuedAt", "signature"] as const;
const OPTIONAL = ["statement", "expirationTime", "notBefore", "requestId", "signatureScheme"] as const;

/** Reads the header; `undefined`: it is malformed. Never throws. */
export function readSIWxHeader(header: string): SIWxPayload | undefined {
  const json = /^[A-Za-z0-9+/]+={0,2}$/.test(header)
    ? parseJson(Buffer.from(header, "base64").toString("utf8"))
    : undefined;
  const value = json?.ok === true ? json.value : undefined;
  if (!isJsonObject(value)) return undefined;
  const { type, resources } = value;
  const isComplete =
    REQUIRED.every((name) => isLine(value[name])) &&
    OPTIONAL.every((name) => value[name] === undefined || isLine(value[name])) &&
    (type === "eip191" || type === "ed25519") &&
    (resources === undefined || (Array.isArray(resources) && resources.every(isLine)));
  return isComplete ? pick(value) : undefined;
}

/**
 * Reads the header.
 *
 * @throws ConfigError when it is malformed.
 */
export function parseSIWxHeader(header: string): SIWxPayload {
  const payload = readSIWxHeader(header);
  const issues = createIssues();
  if (payload === undefined) issues.addText("SIGN-IN-WITH-X", "a signed message as JSON in base64", "another header");
  issues.throwIfAny();
  return payload as SIWxPayload;
}

/** A text with a line break could be read as other fields of the message. */
function isLine(value: unknown): value is string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return typeof value === "string" && !/[\u0000-\u001f\u007f]/.test(value);
}

function pick(value: JsonObject): SIWxPayload {
  const names = [...REQUIRED, ...OPTIONAL, "resources"].filter((name) => value[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, value[name]])) as unknown as SIWxPayload;
}

const DEFAULT_MAX_AGE_MS = 300_000;

/** Checks that a message is for this server, and still valid. Its signature is checked by {@link verifySIWxSignature}. */
export async function validateSIWxMessage(
  message: SIWxPayload,
  expectedOrigin: URL,
  { maxAge = DEFAULT_MAX_AGE_MS, checkNonce }: SIWxValidationOptions = {},
): Promise<SIWxValidationResult> {
  const problem = problemOfOrigin(message, expectedOrigin) ?? problemOfTimes(message, maxAge);
  if (problem !== undefined) return problem;
  if (checkNonce !== undefined && !(await checkNonce(message.nonce))) {
    return invalid("nonce", "The nonce is not acceptable");
  }
  return { isValid: true };
}

function problemOfOrigin({ domain, uri }: SIWxPayload, expected: URL): SIWxValidationResult | undefined {
  if (domain !== expected.host) return invalid("domain_mismatch", `The domain is not ${expected.host}`);
  const isOurs = URL.canParse(uri) && new URL(uri).origin === expected.origin;
  return isOurs ? undefined : invalid("uri_mismatch", `The URI is not of ${expected.origin}`);
}

function problemOfTimes(
  { issuedAt, expirationTime, notBefore }: SIWxPayload,
  maxAge: number,
): SIWxValidationResult | undefined {
  const now = Date.now();
  const issued = Date.parse(issuedAt);
  if (Number.isNaN(issued)) return invalid("issued_at", "issuedAt is no time");
  if (now - issued > maxAge) return invalid("issued_at_too_old", "The message is too old");
  if (now < issued) return invalid("issued_at_in_future", "issuedAt is in the future");
  const expires = expirationTime === undefined ? now : Date.parse(expirationTime);
  if (Number.isNaN(expires)) return invalid("expiration_time", "expirationTime is no time");
  if (expires < now) return invalid("expired", "The message has expired");
  const begins = notBefore === undefined ? now : Date.parse(notBefore);
  if (Number.isNaN(begins)) return invalid("not_before", "notBefore is no time");
  return now < begins ? invalid("not_yet_valid", "The message is not valid yet") : undefined;
}

/** Checks the signature of a message. Never throws or rejects. */
export async function verifySIWxSignature(
  payload: SIWxPayload,
  options: SIWxVerifyOptions = {},
): Promise<SIWxVerifyResult> {
  const { chainId } = payload;
  if (chainId.startsWith("eip155:")) return verifyEvm(payload, options);
  if (chainId.startsWith("solana:")) return verifySolana(payload);
  return invalid("unsupported_chain", "The network is neither eip155:* nor solana:*");
}

async function verifyEvm(payload: SIWxPayload, { evmVerifier }: SIWxVerifyOptions): Promise<SIWxVerifyResult> {
  const { chainId, address, signature } = payload;
  if (!/^eip155:\d{1,15}$/.test(chainId)) return invalid("chain_id", "The network is not eip155:<number>");
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) return invalid("signature", "The address is no address");
  if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(signature)) return invalid("signature", "The signature is not in hex");
  const hex = { address: address as `0x${string}`, signature: signature as `0x${string}` };
  const message = writeMessage(payload, "Ethereum", toChecksum(hex.address));
  try {
    const isSigned = await (evmVerifier?.({ ...hex, message }) ??
      isMessageSignedBy(message, hex.address, hex.signature));
    return isSigned === true ? { isValid: true, payer: address } : invalid("signature", "Another key signed");
  } catch {
    return invalid("verifier_error", "The signature could not be checked");
  }
}

function verifySolana(payload: SIWxPayload): SIWxVerifyResult {
  const { address, signature } = payload;
  const key = decodeBase58(address, 32);
  const bytes = decodeBase58(signature, SIGNATURE_BYTES);
  if (key === undefined || bytes === undefined) return invalid("malformed_signature", "Key or signature is malformed");
  const isSigned = isSignedBy(key, Buffer.from(writeMessage(payload, "Solana", address), "utf8"), bytes);
  return isSigned ? { isValid: true, payer: address } : invalid("signature", "Another key signed");
}

/** The text that a wallet shows and signs. */
function writeMessage(payload: SIWxPayload, wallet: "Ethereum" | "Solana", address: string): string {
  const { domain, statement, uri, version, chainId, nonce, issuedAt } = payload;
  const { expirationTime, notBefore, requestId, resources } = payload;
  const [, reference] = chainId.split(":");
  const optional = (name: string, value: string | undefined) => (value ? [`${name}: ${value}`] : []);
  const listed = resources === undefined || (wallet === "Solana" && resources.length === 0) ? undefined : resources;
  // EIP-4361 keeps the empty line of a statement that is not there.
  const stated = statement ? [statement, ""] : wallet === "Ethereum" ? [""] : [];
  return [
    `${domain} wants you to sign in with your ${wallet} account:`,
    address,
    "",
    ...stated,
    `URI: ${uri}`,
    `Version: ${version}`,
    `Chain ID: ${reference}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    ...optional("Expiration Time", expirationTime),
    ...optional("Not Before", notBefore),
    ...optional("Request ID", requestId),
    ...(listed === undefined ? [] : ["Resources:", ...listed.map((resource) => `- ${resource}`)]),
  ].join("\n");
}

function invalid(
  reason: string,
  invalidMessage: string,
): { isValid: false; invalidReason: `invalid_siwx_${string}`; invalidMessage: string } {
  return { isValid: false, invalidReason: `invalid_siwx_${reason}`, invalidMessage };
}
