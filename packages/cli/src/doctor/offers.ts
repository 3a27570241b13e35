/**
 * Checks offers as clients read them: without the server, the facilitator or the chain.
 *
 * @module
 */
import { exactAvm } from "@farebox/avm";
import { networkName } from "@farebox/bazaar/facilitator";
import type { PaymentRequirements, Scheme } from "@farebox/core";
import { canonicalNetwork, isJsonObject, isNetwork } from "@farebox/core/protocol";
import { ASSETS, exactEvm } from "@farebox/evm";
import { exactSvm } from "@farebox/svm";
import { describePrice } from "../catalog/price.js";
import { type Diagnosis, diagnose } from "./diagnoses.js";

/** What a client of `@x402/fetch` pays at most, by default. */
const CLIENT_LIMIT = "$1";

const ZERO = `0x${"0".repeat(40)}`;

/** The scheme of each family of networks. */
export const SCHEMES: Readonly<Record<string, Scheme>> = {
  eip155: exactEvm(),
  solana: exactSvm(),
  algorand: exactAvm(),
};

/** The family of a network: `eip155`. */
export function familyOf(network: string): string {
  return network.slice(0, network.indexOf(":"));
}

/** Whether a network's money is worthless; `undefined`: the network is unknown. */
export function isTestnet(network: string): boolean | undefined {
  if (/^eip155:(1337|31337)$/.test(network)) return true;
  const name = networkName(network);
  return name === undefined ? undefined : /sepolia|testnet|devnet|apothem/i.test(name);
}

/** `$0.001 (USDC) on Base`, for a line about an offer. */
export function describeOffer(offer: PaymentRequirements): string {
  return `${describePrice(offer)} on ${networkName(offer.network) ?? offer.network}`;
}

/** Reads the offers of a challenge. Those that clients refuse are left out, and told. */
export function readOffers(
  accepts: readonly unknown[],
  subject: string,
): { readonly offers: readonly PaymentRequirements[]; readonly diagnoses: readonly Diagnosis[] } {
  const offers: PaymentRequirements[] = [];
  const diagnoses: Diagnosis[] = [];
  for (const [at, offer] of accepts.entries()) {
    const problem = problemOf(offer);
    if (problem === undefined) offers.push(offer as PaymentRequirements);
    else diagnoses.push(diagnose("OFFER_INVALID", subject, { message: `accepts[${at}]: ${problem}` }));
  }
  return { offers, diagnoses };
}

function problemOf(offer: unknown): string | undefined {
  if (!isJsonObject(offer)) return "is not an object";
  for (const field of ["scheme", "network", "amount", "asset", "payTo"] as const) {
    if (typeof offer[field] !== "string" || offer[field] === "") return `${field} is not a text`;
  }
  const { amount, network, maxTimeoutSeconds, extra } = offer;
  if (!/^\d{1,78}$/.test(amount as string)) return `amount is not a whole number of atomic units: ${String(amount)}`;
  if (!isNetwork(network)) return `network is not a CAIP-2 identifier: ${String(network)}`;
  const isTime = typeof maxTimeoutSeconds === "number" && maxTimeoutSeconds > 0;
  if (!isTime) return "maxTimeoutSeconds is not a positive number";
  return extra === undefined || extra === null || isJsonObject(extra) ? undefined : "extra is not an object";
}

/** What clients make of each offer, and of all together. */
export function checkOffers(
  offers: readonly PaymentRequirements[],
  subject: string,
  isPublic: boolean,
): readonly Diagnosis[] {
  return [
    ...offers.flatMap((offer) => checkOffer(offer, `${subject}, ${describeOffer(offer)}`)),
    ...checkDefaults(offers, subject),
    ...checkTestnets(offers, subject, isPublic),
  ];
}

function checkOffer(offer: PaymentRequirements, subject: string): readonly Diagnosis[] {
  const { maxTimeoutSeconds, payTo, asset, network } = offer;
  const found: Diagnosis[] = [...checkDomain(offer, subject), ...checkFacilitatorFields(offer, subject)];
  if (maxTimeoutSeconds < 10) {
    found.push(
      diagnose("TIMEOUT_SHORT", subject, {
        message: `maxTimeoutSeconds is ${maxTimeoutSeconds}: facilitators refuse a payment with less than 6 seconds left`,
      }),
    );
  }
  const isEvm = familyOf(network) === "eip155";
  const isLost = payTo === asset || (isEvm && [ZERO, asset.toLowerCase()].includes(payTo.toLowerCase()));
  if (isLost) found.push(diagnose("PAYEE_WRONG", subject, { message: `The money would be lost: payTo is ${payTo}` }));
  return found;
}

/** The domain of a known token is known. That of another one must at least be there. */
function checkDomain({ scheme, network, asset, extra }: PaymentRequirements, subject: string): readonly Diagnosis[] {
  if (familyOf(network) !== "eip155" || scheme !== "exact" || extra?.["assetTransferMethod"] === "permit2") return [];
  const { name, version } = extra ?? {};
  const known = ASSETS.find((each) => each.network === network && each.address.toLowerCase() === asset.toLowerCase());
  if (typeof name !== "string" || typeof version !== "string") {
    const message = "extra.name and extra.version are missing, so clients cannot sign";
    return [diagnose("TOKEN_DOMAIN", subject, { message })];
  }
  if (known === undefined || (known.name === name && known.version === version)) return [];
  const message = `extra says ${JSON.stringify(name)}, version ${JSON.stringify(version)}; the token's domain is ${JSON.stringify(known.name)}, version ${JSON.stringify(known.version)}`;
  return [diagnose("TOKEN_DOMAIN", subject, { message })];
}

function checkFacilitatorFields(
  { scheme, network, extra }: PaymentRequirements,
  subject: string,
): readonly Diagnosis[] {
  const lacks = (field: string) => typeof extra?.[field] !== "string";
  const message = (field: string) =>
    `extra.${field} is missing: the facilitator provides it, and clients cannot sign without it`;
  if (familyOf(network) === "solana" && lacks("feePayer"))
    return [diagnose("FACILITATOR_FIELD", subject, { message: message("feePayer") })];
  if (familyOf(network) === "eip155" && scheme === "upto" && lacks("facilitatorAddress")) {
    return [diagnose("FACILITATOR_FIELD", subject, { message: message("facilitatorAddress") })];
  }
  return [];
}

/** Whether a client with its defaults can pay by one of the offers. */
function checkDefaults(offers: readonly PaymentRequirements[], subject: string): readonly Diagnosis[] {
  if (offers.length === 0) return [];
  const known = offers.filter(({ network }) => networkName(network) !== undefined);
  if (known.length === 0) {
    const names = [...new Set(offers.map(({ network }) => network))].join(", ");
    return [diagnose("CLIENT_NETWORK", subject, { message: `Clients do not know ${names} by default` })];
  }
  const usual = known.filter(isUsualAsset);
  if (usual.length === 0) return [diagnose("CLIENT_ASSET", subject)];
  if (usual.some(isWithinLimit)) return [];
  return [
    diagnose("CLIENT_LIMIT", subject, {
      message: `Clients of @x402/fetch pay at most ${CLIENT_LIMIT} by default, and this costs ${describePrice(usual[0] as PaymentRequirements)}`,
    }),
  ];
}

/** What a price in dollars means on the network of an offer. */
function limitFor({ network, payTo }: PaymentRequirements) {
  const limit = SCHEMES[familyOf(network)]?.compileTerms({
    network: canonicalNetwork(network) as `${string}:${string}`,
    price: CLIENT_LIMIT,
    payTo,
  });
  return limit?.ok === true ? limit : undefined;
}

function isUsualAsset(offer: PaymentRequirements): boolean {
  const limit = limitFor(offer);
  return limit !== undefined && limit.asset.id.toLowerCase() === offer.asset.toLowerCase();
}

function isWithinLimit(offer: PaymentRequirements): boolean {
  const limit = limitFor(offer);
  return limit !== undefined && BigInt(offer.amount) <= limit.amount;
}

function checkTestnets(
  offers: readonly PaymentRequirements[],
  subject: string,
  isPublic: boolean,
): readonly Diagnosis[] {
  const kinds = new Set(offers.map(({ network }) => isTestnet(network)));
  if (kinds.has(true) && kinds.has(false)) return [diagnose("TESTNET_MIXED", subject)];
  return isPublic && kinds.size === 1 && kinds.has(true) ? [diagnose("TESTNET_ONLY", subject)] : [];
}
