/**
 * Asks facilitators what they support, and compares it with the offers.
 *
 * @module
 */
import { isPublicHost } from "@farebox/bazaar/facilitator";
import {
  createHttpFacilitator,
  type Facilitator,
  FacilitatorError,
  type PaymentRequirements,
  type SupportedResponse,
} from "@farebox/core";
import { sameNetwork } from "@farebox/core/protocol";
import type { Clock } from "../frame/clock.js";
import { type Diagnosis, diagnose } from "./diagnoses.js";
import { describeOffer, isTestnet } from "./offers.js";

/** A facilitator to ask. */
export interface NamedFacilitator {
  readonly url: string;
  readonly facilitator: Facilitator;
}

/** A facilitator that has responded. */
interface Asked {
  readonly url: string;
  readonly supported: SupportedResponse;
}

const SLOW_MS = 2_000;

/** How long a facilitator may take. */
interface TimeLimit {
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Opens facilitators by their URLs. @throws ConfigError if one is no URL */
export function openFacilitators(urls: readonly string[]): readonly NamedFacilitator[] {
  return urls.map((url) => ({ url, facilitator: createHttpFacilitator({ url }) }));
}

/** Checks facilitators, and whether they support each of the offers. */
export async function checkFacilitators(
  facilitators: readonly NamedFacilitator[],
  offers: readonly PaymentRequirements[],
  limit: TimeLimit,
): Promise<readonly Diagnosis[]> {
  if (facilitators.length === 0) return [];
  const results = await Promise.all(facilitators.map((each) => ask(each, limit)));
  const asked = results.flatMap((result) => result.asked ?? []);
  const found = results.flatMap(({ diagnoses }) => diagnoses);
  return asked.length === 0 ? found : [...found, ...uniqueOffers(offers).flatMap((offer) => compare(offer, asked))];
}

async function ask(
  { url, facilitator }: NamedFacilitator,
  { timeoutMs, clock }: TimeLimit,
): Promise<{ readonly asked?: Asked; readonly diagnoses: readonly Diagnosis[] }> {
  const diagnoses: Diagnosis[] = [];
  const { protocol, hostname } = new URL(url);
  if (protocol === "http:" && isPublicHost(hostname)) diagnoses.push(diagnose("FACILITATOR_NOT_TLS", url));
  const startedMs = clock.elapsed();
  try {
    const supported = await facilitator.supported({ signal: clock.deadline(timeoutMs) });
    const tookMs = Math.round(clock.elapsed() - startedMs);
    if (tookMs > SLOW_MS) {
      diagnoses.push(diagnose("FACILITATOR_SLOW", url, { message: `The facilitator took ${tookMs} ms to respond` }));
    }
    return { asked: { url, supported }, diagnoses };
  } catch (error) {
    const code = error instanceof FacilitatorError ? error.code : undefined;
    const isThere = code === "ERR_FAREBOX_FACILITATOR_RESPONSE" || code === "ERR_FAREBOX_FACILITATOR_STATUS";
    const name = isThere ? "FACILITATOR_RESPONSE" : "FACILITATOR_UNREACHABLE";
    const message = `The facilitator's /supported cannot be used: ${error instanceof Error ? error.message : String(error)}`;
    return { diagnoses: [...diagnoses, diagnose(name, url, { message })] };
  }
}

/** Offers that differ for a facilitator. */
function uniqueOffers(offers: readonly PaymentRequirements[]): readonly PaymentRequirements[] {
  const byTerms = offers.map((offer) => {
    const { scheme, network, extra } = offer;
    return [JSON.stringify([scheme, network, extra?.["feePayer"], extra?.["facilitatorAddress"]]), offer] as const;
  });
  return [...new Map(byTerms).values()];
}

function compare(offer: PaymentRequirements, asked: readonly Asked[]): readonly Diagnosis[] {
  const { scheme, network } = offer;
  const subject = `${scheme} on ${network}`;
  const able = asked.filter(({ supported }) => supports(supported, offer));
  if (able.length > 0) return checkSigners(offer, able, subject);
  const kinds = asked.flatMap(({ supported }) => supported.kinds.map((kind) => isTestnet(kind.network)));
  const names = asked.map(({ url }) => url).join(", ");
  const isForTests = isTestnet(network);
  if (isForTests === false && kinds.length > 0 && kinds.every((each) => each === true)) {
    return [
      diagnose("FACILITATOR_TESTNET", subject, {
        message: `${names} is for test networks only, and the offer is ${describeOffer(offer)}`,
      }),
    ];
  }
  if (isForTests === true && kinds.length > 0 && kinds.every((each) => each === false)) {
    return [
      diagnose("FACILITATOR_MAINNET", subject, {
        message: `${names} is for main networks only, and the offer is ${describeOffer(offer)}`,
      }),
    ];
  }
  return [diagnose("FACILITATOR_UNSUPPORTED", subject, { message: `${names} does not support ${subject}` })];
}

function supports({ kinds }: SupportedResponse, { scheme, network }: PaymentRequirements): boolean {
  return kinds.some((kind) => kind.x402Version === 2 && kind.scheme === scheme && sameNetwork(kind.network, network));
}

/** Whether an address that the offer names is one of a facilitator's. */
function checkSigners({ extra }: PaymentRequirements, able: readonly Asked[], subject: string): readonly Diagnosis[] {
  return ["feePayer", "facilitatorAddress"].flatMap((field) => {
    const address = extra?.[field];
    if (typeof address !== "string") return [];
    const own = able.flatMap(({ supported }) => [
      ...Object.values(supported.signers).flat(),
      ...supported.kinds.flatMap((kind) => (typeof kind.extra?.[field] === "string" ? [kind.extra[field]] : [])),
    ]);
    const isOwn = own.some((each) => each === address || each.toLowerCase() === address.toLowerCase());
    const message = `extra.${field} is ${address}, which is none of the facilitator's addresses`;
    return isOwn ? [] : [diagnose("FACILITATOR_SIGNER", subject, { message })];
  });
}
