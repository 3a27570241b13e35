/**
 * Requests that are sent on to where a server says that its service has moved.
 *
 * @see RFC 9110 §15.4; WHATWG Fetch, "HTTP-redirect fetch"
 * @module
 */
import type { HttpAnswer, HttpClient, HttpOutcome, HttpRequest } from "./http-client.js";

/** What came of a request, and whether it is the first server's word. */
export interface FollowedOutcome {
  readonly outcome: HttpOutcome;
  readonly isRedirected: boolean;
}

/** More are a circle. */
const MAX_REDIRECTS = 5;

/**
 * Sends a request, and follows redirects to an origin that is as safe as the first one.
 *
 * @param own - Headers that another origin may see; the others, most often credentials, were given for the first one
 */
export async function sendFollowing(
  send: HttpClient,
  request: HttpRequest,
  own: readonly string[],
): Promise<FollowedOutcome> {
  let at = request;
  let outcome = await send(at);
  for (let redirects = 0; ; redirects++) {
    const target = outcome.kind === "answered" ? targetOf(outcome, at.url) : undefined;
    if (target === undefined || outcome.kind !== "answered") return { outcome, isRedirected: redirects > 0 };
    if (redirects === MAX_REDIRECTS) return { outcome: TOO_MANY, isRedirected: true };
    at = redirected(at, { target, status: outcome.status, own });
    outcome = await send(at);
  }
}

const TOO_MANY: HttpOutcome = { kind: "unanswered", sent: true, cause: new TypeError("too many redirects") };

/** `undefined` where there is no redirect, or none that may be followed. */
function targetOf({ status, headers }: HttpAnswer, from: URL): URL | undefined {
  const { location } = headers;
  if (!REDIRECTS.includes(status) || location === undefined || !URL.canParse(location, from.href)) return undefined;
  const target = new URL(location, from.href);
  const isAsSafe = target.protocol === "https:" || (target.protocol === "http:" && from.protocol === "http:");
  return isAsSafe && target.username + target.password === "" ? target : undefined;
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** By these a request is to be repeated as it is; by the others, what was posted is answered by a page to be fetched. */
const REPEATED_AS_IT_IS: readonly number[] = [307, 308];

interface Redirect {
  readonly target: URL;
  readonly status: number;
  readonly own: readonly string[];
}

function redirected({ url, headers, body, signal }: HttpRequest, { target, status, own }: Redirect): HttpRequest {
  const kept = Object.entries(headers).filter(([name]) => own.includes(name));
  return {
    url: target,
    headers: target.origin === url.origin ? headers : Object.fromEntries(kept),
    signal,
    ...(body !== undefined && REPEATED_AS_IT_IS.includes(status) ? { body } : {}),
  };
}
