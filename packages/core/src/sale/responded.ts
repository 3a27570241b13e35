/**
 * What is kept of a handler's response, and what others get of it.
 *
 * @module
 */

import type { Runs } from "../steps/runs.js";
import type { StoredAnswer } from "../store/payment-store.js";
import { type GateResponse, type Headers, replayed } from "./answers.js";
import { type HandlerResponse, type Release, reasonsIn, withoutPayments } from "./charge.js";
import type { Deliveries, Proof } from "./delivery.js";
import type { PaidRequest } from "./request.js";

/** What duplicates share: the same response, if all of it was held. */
export function toShare(response: HandlerResponse, release: Release): GateResponse | undefined {
  if (release.kind === "replace") return release.response;
  const stored = toStored(response);
  if (stored === undefined) return undefined;
  const shared = release.paid ? stored : { ...stored, headers: reasonsIn(stored) };
  return replayed(shared, release.headers, { isPaid: release.paid });
}

/** A response with headers in place of those of the same names. */
export function withHeaders(response: HandlerResponse, added: Headers = []): HandlerResponse {
  const names = new Set(added.map(([name]) => name.toLowerCase()));
  const kept = response.headers.filter(([name]) => !names.has(name.toLowerCase()));
  return { ...response, headers: [...kept, ...added] };
}

/** A response to keep; `undefined`: it is too large. What a header of the handler's says about the amount is no part of it. */
export function toStored(response: HandlerResponse): StoredAnswer | undefined {
  const { status, headers, body } = withoutPayments(response);
  return body === undefined ? undefined : { status, headers, body };
}

/** Nothing was sent. A response too large to keep is made anew, and counts as an abandoned run: its client left. */
export async function keepOrOwe(
  paid: PaidRequest,
  response: HandlerResponse,
  proof: Proof,
  { deliveries, runs }: { readonly deliveries: Deliveries; readonly runs: Pick<Runs, "beginSettled"> },
): Promise<void> {
  const stored = toStored(response);
  if (stored !== undefined) return deliveries.keep(paid.claim, stored, proof);
  // First, so that a request that finds the payment owed finds the run counted.
  const counted = runs.beginSettled(paid);
  counted.abandon();
  await counted.written;
  await deliveries.owe(paid.claim);
}
