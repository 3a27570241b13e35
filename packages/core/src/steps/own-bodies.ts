/**
 * The seller's own bodies: of the 402 for an unpaid request, of the 402 for a refused settlement, of 503s, and the page for browsers.
 *
 * Status and headers stay those of answers.ts, but for `Content-Type`. A function of the seller's that throws, rejects,
 * returns something else or takes too long changes nothing: the client gets the usual response.
 *
 * @see `docs/reference/responses.md`, "Bodies of your own"
 * @module
 */
import { bodyFailedFinding, type Findings } from "../events/findings.js";
import { type SellersBody, writeBody } from "../events/hooks.js";
import { describeThrown, type Logger } from "../events/logger.js";
import type { PaywallHtml, SettlementFailure, StartTimer, Unavailable } from "../options.js";
import type { PaymentRequired, SettlementResponse } from "../protocol/documents.js";
import { SellersRequest } from "../route/priced-request.js";
import { type AwaitedResponse, type GateResponse, withBody } from "../sale/answers.js";
import type { MatchedRequest, PaidRequest } from "../sale/request.js";

/** What the seller's bodies need. */
export interface OwnBodiesDeps {
  readonly findings: Pick<Findings, "add">;
  readonly logger: Logger;
  readonly timer: StartTimer;
}

/** Which body is the seller's. */
type What = "unpaidBody" | "settlementFailedBody" | "unavailableBody" | "paywall.html";

/** A client waits for the seller's function no longer than this. */
const BODY_MS = 5_000;

const HTML = "text/html; charset=utf-8";

/** Asks the seller's functions for bodies. Nothing here throws or rejects. */
export class OwnBodies {
  readonly #deps: OwnBodiesDeps;

  constructor(deps: OwnBodiesDeps) {
    this.#deps = deps;
  }

  /** The 402 for a request of a program without a payment, with the route's `unpaidBody`. */
  unpaid(matched: MatchedRequest, asked: GateResponse): AwaitedResponse {
    const { route } = matched;
    const { unpaidBody } = route.bodies;
    if (unpaidBody === undefined || !isChallenge(asked)) return asked;
    return this.#ask("unpaidBody", route.key, asked, async () =>
      toResponse(asked, await unpaidBody(new SellersRequest(matched))),
    );
  }

  /** The seller's page in place of the challenge; the page of Farebox, if the seller's fails. */
  page(
    matched: MatchedRequest,
    asked: GateResponse,
    html: PaywallHtml,
    usual: () => Promise<GateResponse>,
  ): AwaitedResponse {
    if (!isChallenge(asked)) return asked;
    if (typeof html === "string") return withBody(asked, HTML, html);
    return this.#ask("paywall.html", matched.route.key, usual, async () => {
      const challenge = JSON.parse(String(asked.body)) as PaymentRequired;
      const written: unknown = await html(challenge, new SellersRequest(matched));
      if (typeof written !== "string") throw new TypeError("expected HTML");
      return withBody(asked, HTML, written);
    });
  }

  /** A 503 with the route's `unavailableBody`. Any other response stays. */
  unavailable(matched: MatchedRequest, usual: GateResponse): AwaitedResponse {
    const { unavailableBody } = matched.route.bodies;
    if (unavailableBody === undefined || usual.status !== 503) return usual;
    return this.#ask("unavailableBody", matched.route.key, usual, async () =>
      toResponse(usual, await unavailableBody(new SellersRequest(matched), toUnavailable(usual))),
    );
  }

  /** The response to a payment that did not settle. The 402 for a refused settlement has the route's `settlementFailedBody`. */
  async settlementFailed(
    { route, matched, payload }: Pick<PaidRequest, "route" | "matched" | "payload">,
    receipt: SettlementResponse | undefined,
    response: AwaitedResponse,
  ): Promise<GateResponse> {
    const usual = await response;
    if (usual.status === 503) return this.unavailable(matched, usual);
    const { settlementFailedBody } = route.bodies;
    if (settlementFailedBody === undefined || receipt === undefined || !isChallenge(usual)) return usual;
    const reason = receipt.errorReason ?? "unexpected_settle_error";
    // A copy: the seller may change it, and the record has the original.
    const failure: SettlementFailure = { reason, receipt: structuredClone(receipt) };
    return this.#ask("settlementFailedBody", route.key, usual, async () =>
      toResponse(usual, await settlementFailedBody(new SellersRequest(matched, payload), failure)),
    );
  }

  async #ask(
    what: What,
    route: string,
    usual: GateResponse | (() => AwaitedResponse),
    make: () => Promise<GateResponse>,
  ): Promise<GateResponse> {
    const { findings, logger, timer } = this.#deps;
    let stopTimer = () => {};
    try {
      const late = new Promise<never>((_, reject) => {
        stopTimer = timer(() => reject(new RangeError(`it took longer than ${BODY_MS} ms`)), BODY_MS);
      });
      return await Promise.race([make(), late]);
    } catch (error) {
      logger.error("body_failed", { route, body: what, ...describeThrown(error) });
      findings.add(bodyFailedFinding(route, what));
      return typeof usual === "function" ? await usual() : usual;
    } finally {
      stopTimer();
    }
  }
}

/** Not a 503 of a route that nobody can pay for right now. */
function isChallenge({ status }: GateResponse): boolean {
  return status === 402 || status === 412;
}

function toUnavailable({ headers, body }: GateResponse): Unavailable {
  const { error } = JSON.parse(String(body)) as { readonly error: string };
  const [, seconds] = headers.find(([name]) => name === "Retry-After") ?? [];
  return { reason: error, retryAfterSeconds: Number(seconds) };
}

/** @throws if it is no body of a seller's, or JSON cannot express it */
function toResponse(usual: GateResponse, given: SellersBody): GateResponse {
  const written = writeBody(given);
  if (written === undefined) {
    throw new TypeError("expected { contentType, body }: a media type; and a text, bytes or a JSON value");
  }
  return withBody(usual, written.contentType, written.body);
}
