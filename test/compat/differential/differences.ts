/**
 * The differences between the reference and `@farebox/compat` that are meant. Each has a heading in
 * `docs/reference/compat-differences.md`; a difference that none of them explains is a bug.
 *
 * @module
 */
import { ABSENT, compare, type Difference, type Observation } from "./compare.js";
import type { Plan } from "./plan.js";

/** One exchange with both. */
export interface Exchange {
  readonly reference: Observation;
  readonly compat: Observation;
  /** The first is unpaid. */
  readonly at: number;
  /** What was drawn; of an example server there is no plan. */
  readonly plan?: Plan;
}

/** A difference that is meant. */
export interface Meant {
  /** The heading that tells it. */
  readonly heading: string;
  /** Whether it explains why the exchange as a whole went another way: another status, another sale. */
  readonly turns?: (exchange: Exchange & { readonly plan: Plan }) => boolean;
  /** Whether it explains one value. */
  readonly explains?: (difference: Difference, exchange: Exchange) => boolean;
}

/** A difference, and the heading that explains it, if one does. */
export interface Told {
  readonly heading: string | undefined;
  readonly text: string;
}

/** All of them. */
export const MEANT: readonly Meant[] = [
  // The exchange as a whole
  {
    heading: "HEAD",
    turns: ({ plan, reference, compat }) =>
      plan.request.method === "HEAD" && isFree(reference) && [402, 403].includes(compat.status),
    // A hook that grants is asked.
    explains: ({ path, reference }, { plan }) =>
      path.startsWith("facts.hooks.") && reference === ABSENT && plan?.request.method === "HEAD",
  },
  {
    heading: "ALL",
    turns: ({ plan, reference, compat }) =>
      plan.key.startsWith("ALL ") && isFree(reference) && [402, 403].includes(compat.status),
    explains: ({ path, reference }, { plan }) =>
      path.startsWith("facts.hooks.") && reference === ABSENT && plan?.key.startsWith("ALL ") === true,
  },
  {
    heading: "Routes of every method",
    // The app of the plans has `app.all` at these.
    turns: ({ plan, reference, compat }) =>
      /^\/(thing\/.|files)/.test(plan.request.path) &&
      !plan.key.startsWith(plan.request.method) &&
      isFree(reference) &&
      [402, 403].includes(compat.status),
    explains: ({ path, reference }, { plan, at }) =>
      path.startsWith("facts.hooks.") && reference === ABSENT && plan?.hooks.onProtectedRequest === "grant" && at === 0,
  },
  {
    heading: "Paths",
    turns: ({ plan, reference, compat }) =>
      plan.request.path.includes("%") && [402, 403, 500].includes(reference.status) && compat.status === 404,
    explains: ({ path, compat }, both) =>
      path.startsWith("facts.hooks.") &&
      compat === ABSENT &&
      both.reference.status === 404 &&
      both.compat.status === 404,
  },
  {
    heading: "Payments that cannot be read",
    turns: ({ plan, reference, compat, at }) =>
      /^(garbage|not a payment)$/.test(plan.payment) && at === 1 && reference.status === 402 && compat.status === 400,
  },
  {
    heading: "Hooks that throw",
    turns: ({ plan, reference, compat }) =>
      (plan.hooks.onProtectedRequest === "throw" && reference.status === 500 && compat.status === 403) ||
      (/throw/.test(plan.hooks.onBeforeVerify + plan.hooks.onBeforeSettle) &&
        compat.status === 403 &&
        compat.facts["earned"] === "0"),
  },
  {
    heading: "Facilitator faults",
    turns: ({ plan, reference, compat, at }) =>
      plan.facilitator === "verify throws" && at > 0 && reference.status === 402 && compat.status === 503,
  },
  {
    heading: "Unknown outcomes",
    turns: ({ plan, reference, compat, at }) =>
      plan.facilitator.startsWith("settle throws") && at > 0 && reference.status !== 503 && compat.status === 503,
  },
  {
    heading: "Duplicates",
    turns: ({ plan, at }) => (plan.payment === "twice" && at === 2) || (plan.payment === "at once" && at > 0),
    explains: ({ path }, { plan, at }) =>
      /^(facts\.hooks|receipt|body)/.test(path) &&
      ((plan?.payment === "twice" && at === 2) || plan?.payment === "at once") &&
      at > 0,
  },
  {
    heading: "Recovered",
    turns: ({ plan, reference, compat }) =>
      /recover/.test(plan.hooks.onVerifyFailure + plan.hooks.onSettleFailure) &&
      reference.status !== 402 &&
      [402, 503].includes(compat.status),
    explains: ({ path }, { plan }) =>
      path.startsWith("receipt.") && /recover/.test(`${plan?.hooks.onVerifyFailure} ${plan?.hooks.onSettleFailure}`),
  },
  {
    heading: "Skip",
    turns: ({ plan, reference, compat }) =>
      plan.hooks.onBeforeSettle === "skip" && reference.status !== 402 && compat.status === 402,
    explains: ({ path }, { plan }) => /^(receipt|facts\.hooks)\./.test(path) && plan?.hooks.onBeforeSettle === "skip",
  },
  {
    heading: "Overrides",
    // Also one for a payment of `exact`, whose amount is fixed.
    turns: ({ plan, reference, compat }) =>
      (isWrongOverride(plan) && compat.status === 500) ||
      // Nothing is settled for an amount of 0.
      (plan.handler.override === "0" && reference.status === 402 && compat.facts["earned"] === "0"),
    explains: ({ path }, { plan, reference, compat }) =>
      /^(body|headers\.(content-type|etag))/.test(path) &&
      plan !== undefined &&
      isWrongOverride(plan) &&
      reference.status === 500 &&
      compat.status === 500,
  },
  {
    heading: "Responses that are not charged",
    turns: ({ plan, compat }) =>
      compat.facts["earned"] === "0" && isFailureToUs(plan) && compat.status === plan.handler.status,
    explains: ({ path }, { plan, compat }) =>
      (path.startsWith("receipt") && valueAt(compat.receipt, "errorReason") === "not_charged") ||
      (/^(headers\.cache-control|facts\.hooks)/.test(path) && plan !== undefined && isFailureToUs(plan)),
  },
  // Single values
  {
    heading: "Page for browsers",
    explains: ({ path }, { plan, reference, compat }) =>
      path === "body" && plan?.request.isBrowser === true && reference.status === 402 && compat.status === 402,
  },
  {
    heading: "Local checks",
    turns: ({ plan, reference, compat }) =>
      plan.payment === "expired" &&
      reference.facts["earned"] === "0" &&
      compat.status === 402 &&
      compat.facts["served"] === 0,
    // The hooks come after them.
    explains: ({ path, compat }, { plan, at, ...both }) =>
      (path.startsWith("facts.hooks.") || path === "receipt") &&
      compat === ABSENT &&
      both.compat.status === 402 &&
      (plan?.payment === "expired" || (plan?.payment === "twice" && at === 2)),
  },
  {
    heading: "Refusals",
    explains: ({ path, reference, compat }, { plan, ...both }) =>
      path.startsWith("facts.hooks.") &&
      both.reference.status === 402 &&
      both.compat.status === 402 &&
      ((reference === ABSENT && compat === "onVerifyFailure") ||
        (reference === "onVerifiedPaymentCanceled" && plan?.hooks.onAfterVerify === "abort")),
  },
  {
    heading: "Refused settlements",
    explains: ({ path, reference }, { plan, ...both }) =>
      both.reference.status === 402 &&
      valueAt(both.reference.receipt, "success") === false &&
      (/^(headers\.(location|vary)|receipt\.(errorMessage|payer))$/.test(path) ||
        (path === "challenge" && reference === ABSENT) ||
        (path.startsWith("body") && plan?.hooks.onBeforeSettle === "abort")),
  },
  {
    heading: "Upfront",
    turns: ({ plan }) =>
      plan.options[0]?.upfront === true &&
      plan.hooks.onBeforeVerify === "skip" &&
      /^(abort|skip the handler)$/.test(plan.hooks.onAfterVerify),
    // A forged payment is refused before it is settled.
    explains: ({ path }, { plan, reference, compat, at }) =>
      at > 0 &&
      plan?.options[0]?.upfront === true &&
      reference.status === compat.status &&
      ((path.startsWith("facts.hooks.") && (plan.hooks.onBeforeVerify === "skip" || compat.status === 402)) ||
        (/^(receipt|body)/.test(path) && compat.status === 402)),
  },
  {
    heading: "Discovery",
    explains: ({ path }) =>
      /^challenge\.extensions\.bazaar\.(routeTemplate|(info|schema)\.[\w.]*pathParams(\.\w+)?)$/.test(path),
  },
  {
    heading: "Body of the 402",
    explains: ({ path }, { reference, compat }) =>
      path.startsWith("body") &&
      reference.status === 402 &&
      compat.status === 402 &&
      JSON.stringify(reference.body) === "{}",
  },
  {
    heading: "Fields of an offer",
    explains: ({ path, reference }) =>
      reference === ABSENT &&
      /^challenge\.accepts\.\d+\.(maxAmountRequired|resource|description|mimeType|outputSchema)$/.test(path),
  },
  {
    heading: "Declarations by themselves",
    explains: ({ path, reference, compat }) =>
      reference === ABSENT &&
      (/^challenge\.extensions\.\w+GasSponsoring$/.test(path) ||
        (path === "challenge.extensions" &&
          Object.keys(compat as object).every((key) => key.endsWith("GasSponsoring")))),
  },
  {
    heading: "Long headers",
    explains: ({ path, reference, compat }, both) =>
      (reference === ABSENT && path === "challenge.extensions.farebox") ||
      (compat === ABSENT &&
        /^challenge\.extensions\.bazaar(?:$|\.schema$|\.info\.)/.test(path) &&
        JSON.stringify(both.compat.challenge).includes('"truncated"')),
  },
  {
    heading: "Schemas of declarations",
    explains: ({ path }) =>
      /^(challenge|receipt)\.extensions\.(offer-receipt|\w+GasSponsoring)\.(schema\.|info\.description$)/.test(path),
  },
  {
    heading: "Token domain",
    explains: ({ path, reference }) =>
      reference === ABSENT && /^challenge\.accepts\.\d+\.extra\.(name|version)$/.test(path),
  },
  {
    heading: "Quotes",
    explains: ({ path, reference, compat }, { at, ...both }) =>
      (reference === ABSENT && /^challenge\.accepts\.\d+\.extra\.quote$/.test(path)) ||
      (compat === ABSENT &&
        at > 0 &&
        path === "challenge.accepts.1" &&
        JSON.stringify(both.compat.challenge).includes('"quote"')),
  },
  {
    heading: "Resource URL",
    explains: ({ path, reference, compat }) =>
      path === "challenge.resource.url" && String(reference).replace(/\?.*/, "") === compat,
  },
  {
    heading: "Descriptions",
    explains: ({ path, reference, compat }) =>
      path === "challenge.resource.description" && String(reference).slice(0, 500) === compat,
  },
  {
    heading: "The first version",
    explains: ({ path, compat }) => path === "challenge.error" && String(compat).includes("X-PAYMENT"),
  },
  {
    heading: "Reasons",
    explains: ({ path }, { reference, compat }) =>
      path === "challenge.error" && reference.status === compat.status && reference.status === 402,
  },
  {
    heading: "Amount of a receipt",
    explains: ({ path, reference, compat }, exchange) =>
      path === "receipt.amount" && reference === ABSENT && compat === exchange.compat.facts["earned"],
  },
  {
    heading: "Exposed headers",
    explains: ({ path, reference }) => reference === ABSENT && path === "headers.access-control-expose-headers",
  },
  { heading: "Page for browsers", explains: ({ path, reference }) => path === "headers.vary" && reference === ABSENT },
  { heading: "ETag", explains: ({ path, compat }) => path === "headers.etag" && compat === ABSENT },
  {
    heading: "Cache-Control",
    explains: ({ path, reference, compat }) =>
      path === "headers.cache-control" &&
      (reference === ABSENT || /public|no-store/.test(String(reference))) &&
      /private|no-store/.test(String(compat)),
  },
];

/** The reference charges for these: it does not look at `writeHead`. */
function isFailureToUs({ handler }: Plan): boolean {
  return handler.status === 304 || (handler.body === "writeHead" && handler.status >= 400);
}

/** An amount that is none, or one for a payment of a fixed amount. */
function isWrongOverride({ handler, options }: Plan): boolean {
  return handler.override === "1.5" || (handler.override !== undefined && options[0]?.scheme === "exact");
}

/** The reference served it unasked for money. */
function isFree({ challenge, status }: Observation): boolean {
  return challenge === ABSENT && status !== 402;
}

function valueAt(object: unknown, key: string): unknown {
  return typeof object === "object" && object !== null ? (object as Record<string, unknown>)[key] : undefined;
}

/** The differences of the exchanges that one client had with both. */
export function differencesOf(
  reference: readonly Observation[],
  compat: readonly Observation[],
  plan?: Plan,
): readonly Told[] {
  const told: Told[] = [];
  let turned: string | undefined;
  for (const [at, theirs] of reference.entries()) {
    const ours = compat[at];
    // One of them did not ask for money, or did not start: the exchange before has the difference.
    if (ours === undefined) break;
    const exchange = { reference: theirs, compat: ours, at };
    const found = compare(theirs, ours);
    // What follows from an exchange that went another way is not looked at: another client stands there now.
    turned ??= plan === undefined ? undefined : turnOf({ ...exchange, plan }, found);
    for (const each of found) {
      const heading =
        turned ?? MEANT.find(({ explains }) => explains?.(each, { ...exchange, ...(plan && { plan }) }))?.heading;
      told.push({ heading, text: `${at}: ${theirs.status} and ${ours.status}, ${tell(each)}` });
    }
  }
  return told;
}

function turnOf(exchange: Exchange & { readonly plan: Plan }, found: readonly Difference[]): string | undefined {
  const isTurned = found.some(({ path }) => /^(status|facts\.(served|earned|start))$/.test(path));
  return isTurned ? MEANT.find(({ turns }) => turns?.(exchange))?.heading : undefined;
}

/** The differences that have no explanation, one line each. */
export function unexplained(reference: readonly Observation[], compat: readonly Observation[]): readonly string[] {
  return differencesOf(reference, compat).flatMap(({ heading, text }) => (heading === undefined ? [text] : []));
}

/** `challenge.error: "a" with the reference, "b" here`. */
function tell({ path, reference, compat }: Difference): string {
  return `${path}: ${JSON.stringify(reference)} with the reference, ${JSON.stringify(compat)} here`;
}
