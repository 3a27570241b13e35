/**
 * Looks at what a route's challenge will be like, before anybody gets one.
 *
 * @module
 */
import { type Finding, finding } from "../events/findings.js";
import type { RouteFacts } from "../extension.js";
import { type ChallengeSubject, compileChallenge, HEADER_BUDGET, type LeveledChallenge } from "./challenge.js";

/** Whoever pays sends most of it back, and servers refuse requests with more than 16 KiB of headers. */
const MAX_HEADER = 8192;

/** Stands for the server where the seller has not said how it is reached. */
const SAMPLE_ORIGIN = "https://api.example.com";

/** `large`: beyond what some proxies take. `too_large`: beyond what most do. */
export type ChallengeSize = "fits" | "large" | "too_large";

/** A challenge as most requests will get it; `undefined` as long as there is nothing to offer by it. */
export function sampleChallenge(
  subject: ChallengeSubject,
  { method = "GET", paths }: RouteFacts,
  publicUrl: string,
): LeveledChallenge | undefined {
  if (subject.offers.length === 0) return undefined;
  const [path = { template: "/", params: [] }] = paths ?? [];
  const place = {
    routeTemplate: path.template,
    pathParams: Object.fromEntries(path.params.map((name) => [name, "0"])),
  };
  const url = `${publicUrl || SAMPLE_ORIGIN}${path.template}`;
  return compileChallenge(subject)({ url, method, error: "Payment required", locate: () => place });
}

/** How well a challenge gets through proxies. */
export function sizeOf({ header }: LeveledChallenge): ChallengeSize {
  if (header.length > MAX_HEADER) return "too_large";
  return header.length > HEADER_BUDGET ? "large" : "fits";
}

/** What is too large for most. */
export function inspectSample(challenge: LeveledChallenge, route: string): readonly Finding[] {
  if (sizeOf(challenge) !== "too_large") return [];
  const { length } = challenge.header;
  return [finding("FAREBOX_CHALLENGE_TOO_LARGE", route, `Its PAYMENT-REQUIRED header has ${length} characters`)];
}
