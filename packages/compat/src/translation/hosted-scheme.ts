/**
 * Schemes in the reference's shape that are not the engine's own: of other chains, of a seller's, or of a subclass. They are hosted:
 * they price each offer, and the facilitator alone says whether a payment is good.
 *
 * A payment of such a scheme is known by a hash of its payload. Whoever can write the same authorization in another way makes
 * another payment of it, which the facilitator refuses to settle a second time.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { CompiledTerms, OfferTerms, Scheme } from "@farebox/core";
import { writeCanonicalText } from "@farebox/core/adapter";
import type { AssetAmount, Network, PaymentRequirements, Price, SchemeNetworkServer, SupportedKind } from "../types.js";

/** What a facilitator supports, for an offer. */
interface Kind {
  readonly extra: Readonly<Record<string, unknown>>;
  readonly extensions: readonly string[];
}

/**
 * Hosts a scheme for the networks of a pattern.
 *
 * @param builtIn - The engine's own scheme of that name for these networks. It reads payments, and the hosted one only prices.
 */
export function hostScheme(server: SchemeNetworkServer, networks: string, builtIn: Scheme | undefined): Scheme {
  const { scheme } = server;
  const reading = builtIn ?? { sameAddress, readPayment, knowsPayer: false };
  return {
    ...reading,
    ...{ scheme, networks: networks as Scheme["networks"] },
    // Replaced by `offer`.
    compileTerms: () => ({ ok: false, issues: [] }),
    offer: (terms: OfferTerms, kind: Kind) => makeOffer(server, terms, kind),
  } as Scheme;
}

const ATOMIC = /^[1-9]\d{0,77}$/;

async function makeOffer(server: SchemeNetworkServer, terms: OfferTerms, kind: Kind): Promise<CompiledTerms> {
  const network = terms.network as Network;
  const parsed = await server.parsePrice(terms.price as Price, network);
  const requirements = await server.enhancePaymentRequirements(
    toRequirements(server, terms, parsed),
    { x402Version: 2, scheme: server.scheme, network, extra: { ...kind.extra } } satisfies SupportedKind,
    [...kind.extensions],
  );
  const { asset, amount, payTo, extra } = requirements;
  if (typeof amount !== "string" || !ATOMIC.test(amount)) {
    return {
      ok: false,
      issues: [{ term: "price", expected: "a price that the scheme reads as atomic units above zero" }],
    };
  }
  const decimals = server.getAssetDecimals?.(asset, network);
  return {
    ok: true,
    asset: { id: asset, symbol: asset, decimals, extra: { ...extra } },
    amount: BigInt(amount),
    payTo,
  };
}

/** The time is the engine's to add. */
const MAX_TIMEOUT_SECONDS = 300;

function toRequirements(
  { scheme }: SchemeNetworkServer,
  { network, payTo, extra }: OfferTerms,
  parsed: AssetAmount,
): PaymentRequirements {
  return {
    ...{ scheme, network: network as Network, payTo, maxTimeoutSeconds: MAX_TIMEOUT_SECONDS },
    ...{ asset: parsed.asset, amount: parsed.amount, extra: { ...parsed.extra, ...extra } },
  };
}

function sameAddress(a: string, b: string): boolean {
  return a === b || (a.startsWith("0x") && a.toLowerCase() === b.toLowerCase());
}

const readPayment: Scheme["readPayment"] = (payload, { network, maxTimeoutSeconds }, nowSeconds) => {
  const hash = createHash("sha256");
  try {
    if (typeof payload !== "object" || payload === null) throw new TypeError("no object");
    writeCanonicalText(payload, hash);
  } catch {
    return { kind: "refused", reason: "invalid_payload" };
  }
  const digest = hash.digest("hex");
  return {
    kind: "readable",
    // Nothing is known of its fields.
    payload: payload as Readonly<Record<string, unknown>>,
    identity: `${network}|${digest}`,
    payer: digest,
    expiresAtSeconds: nowSeconds + maxTimeoutSeconds,
    expiredReason: "payment_expired",
  };
};
