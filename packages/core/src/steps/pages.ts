/**
 * The page for browsers: the seller's own, that of `@farebox/paywall`, or a plain one if these fail.
 *
 * @module
 */
import { describeThrown, type Logger } from "../events/logger.js";
import type { RpcNode } from "../http/rpc-node.js";
import type { StartTimer } from "../options.js";
import { chooseTexts } from "../paywall-texts.js";
import type { AvailableRoute } from "../pricing/available-offers.js";
import type { ChallengeOccasion, WrittenChallenge } from "../pricing/challenge.js";
import type { LoadPaywall, PaywallForm, PaywallInput, PaywallOffer, PaywallRenderer } from "../pricing/paywall.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";
import type { GateRequest } from "../route/request.js";
import { challenge, challengeData, challengePage, type GateResponse, viewer } from "../sale/answers.js";
import type { MatchedRequest } from "../sale/request.js";
import type { Offer } from "../scheme/offer.js";
import type { OwnBodies } from "./own-bodies.js";

/** What pages need. */
export interface PagesDeps {
  /** `undefined`: every page is a plain one. */
  readonly loadPaywall: LoadPaywall | undefined;
  readonly bodies: Pick<OwnBodies, "page">;
  readonly rpc: ReadonlyMap<string, RpcNode>;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** A request without a payment, of a browser. */
interface Visit {
  readonly matched: MatchedRequest;
  readonly occasion: ChallengeOccasion;
}

/** How long facts of a chain are good. A blockhash is valid for about a minute. */
const FACTS_MS = 5_000;

/** A page does not wait longer for a node. */
const WAIT_MS = 1_500;

/** A form whose body is longer is not repeated in the page. */
const MAX_FORM = 16_384;

/** Shows pages. */
export class Pages {
  readonly #deps: PagesDeps;
  #renderer: Promise<PaywallRenderer> | undefined;
  readonly #facts = new Map<string, { readonly untilMs: number; readonly facts: Promise<JsonObject | undefined> }>();

  constructor(deps: PagesDeps) {
    this.#deps = deps;
  }

  /** The response to a browser. Rejects only if a challenge cannot be written. */
  async show(view: "page" | "data" | "viewer", visit: Visit): Promise<GateResponse> {
    const { matched, occasion } = visit;
    const { html } = matched.route.bodies.paywall;
    const usual = () => this.#page(visit);
    if (view === "page" && html === undefined) return usual();
    if (view === "page" && html !== undefined) {
      const asked = await challenge(matched.route, occasion, { status: 402 });
      return this.#deps.bodies.page(matched, asked, html, usual);
    }
    const renderer = await this.#load();
    if (renderer === undefined) return usual();
    if (view === "viewer") return viewer(renderer.viewer());
    return challengeData(matched.route, occasion, async (route, written) =>
      renderer.data(await this.#inputOf(visit, route, written)),
    );
  }

  async #page(visit: Visit): Promise<GateResponse> {
    const { matched, occasion } = visit;
    const { logger } = this.#deps;
    const renderer = await this.#load();
    if (renderer === undefined) return challengePage(matched.route, occasion);
    try {
      return await challengePage(matched.route, occasion, async (route, written) =>
        renderer.page(await this.#inputOf(visit, route, written)),
      );
    } catch (error) {
      logger.error("body_failed", { route: matched.route.key, body: "page", ...describeThrown(error) });
      return challengePage(matched.route, occasion);
    }
  }

  #load(): Promise<PaywallRenderer | undefined> {
    const { loadPaywall, logger } = this.#deps;
    if (loadPaywall === undefined) return Promise.resolve(undefined);
    this.#renderer ??= loadPaywall();
    return this.#renderer.catch((error) => {
      this.#renderer = undefined;
      logger.error("body_failed", { route: "", body: "page", ...describeThrown(error) });
      return undefined;
    });
  }

  async #inputOf({ matched }: Visit, route: AvailableRoute, written: WrittenChallenge): Promise<PaywallInput> {
    const { request, requestUrl } = matched;
    const settings = matched.route.bodies.paywall;
    return {
      challenge: written.body,
      offers: await Promise.all(route.offers.map((offer) => this.#describe(offer))),
      description: route.description,
      serviceName: route.service.serviceName,
      method: request.method,
      url: requestUrl,
      form: formOf(request),
      settings,
      chosen: chooseTexts(settings.texts, request.header?.("Accept-Language")),
      nowMs: this.#deps.now(),
    };
  }

  async #describe(offer: Offer): Promise<PaywallOffer> {
    const { scheme, asset, requirements } = offer;
    return {
      requirements,
      symbol: asset.symbol,
      decimals: asset.decimals,
      isUpTo: scheme.allowsLess === true,
      facts: await this.#factsOf(offer),
    };
  }

  /** Asks the seller's node, for all browsers of some seconds together. Never rejects. */
  #factsOf({ scheme, requirements }: Offer): Promise<JsonObject | undefined> {
    const { rpc, now } = this.#deps;
    const network = canonicalNetwork(requirements.network);
    const node = rpc.get(network);
    if (node === undefined || scheme.readPayerFacts === undefined) return Promise.resolve(undefined);
    const key = `${network} ${requirements.asset}`;
    const kept = this.#facts.get(key);
    if (kept !== undefined && kept.untilMs > now()) return kept.facts;
    const asked = scheme.readPayerFacts({ requirements, rpc: node }).catch(() => undefined);
    const facts = Promise.race([asked, this.#wait()]);
    // Assets are the seller's, so there are few.
    this.#facts.set(key, { untilMs: now() + FACTS_MS, facts });
    return facts;
  }

  #wait(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#deps.timer(() => resolve(undefined), WAIT_MS);
    });
  }
}

/** The body of a form, if the page can send the same again. */
function formOf(request: GateRequest): PaywallForm | undefined {
  const { hasBody, method } = request;
  if (hasBody !== true || method === "GET" || method === "HEAD") return undefined;
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.header?.("Content-Type") ?? "");
  const written = isForm ? writeForm(request.body) : undefined;
  return written === undefined || written.length > MAX_FORM ? "lost" : { body: written };
}

/** `undefined`: a parser made something of it that no form has. */
function writeForm(body: unknown): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    // Parsers make a list of one field only if its name says so.
    if (Array.isArray(value) && value.length < 2) return undefined;
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each !== "string") return undefined;
      written.append(name, each);
    }
  }
  return written.toString();
}
