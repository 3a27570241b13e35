/**
 * Draws what a seller might configure, and what a client might send.
 *
 * @module
 */
import fc from "fast-check";

/** One seller and one client. Plain values, so that a failure can be read. */
export interface Plan {
  /** 1: the resource server and the schemes are the reference's own. */
  readonly depth: 1 | 2;
  readonly key: string;
  readonly options: readonly OptionPlan[];
  readonly route: RoutePlan;
  readonly hooks: Readonly<Record<HookName, HookPlan>>;
  readonly handler: HandlerPlan;
  readonly request: RequestPlan;
  readonly payment: PaymentPlan;
  readonly facilitator: FacilitatorPlan;
}

export interface OptionPlan {
  readonly scheme: "exact" | "upto";
  readonly price: string | number | "asset" | "by the query";
  readonly payTo: "fixed" | "by a function";
  readonly maxTimeoutSeconds: number | undefined;
  readonly upfront: boolean;
}

export interface RoutePlan {
  readonly description: string | undefined;
  readonly mimeType: string | undefined;
  readonly resource: string | undefined;
  readonly unpaidBody: boolean;
  readonly failedBody: boolean;
  readonly page: boolean;
  readonly bazaar: boolean;
}

export type HookName =
  | "onProtectedRequest"
  | "onBeforeVerify"
  | "onAfterVerify"
  | "onVerifyFailure"
  | "onBeforeSettle"
  | "onAfterSettle"
  | "onSettleFailure"
  | "onVerifiedPaymentCanceled";

export type HookPlan = "none" | "watch" | "throw" | "abort" | "grant" | "skip" | "skip the handler" | "recover";

export interface HandlerPlan {
  readonly status: number;
  readonly body: "json" | "text" | "empty" | "two writes" | "throw" | "writeHead";
  readonly cacheControl: string | undefined;
  /** For `upto`. */
  readonly override: string | undefined;
}

export interface RequestPlan {
  readonly method: "GET" | "POST" | "HEAD" | "PUT";
  readonly path: string;
  readonly query: string;
  readonly isBrowser: boolean;
}

export type PaymentPlan =
  | "none"
  | "good"
  | "twice"
  | "at once"
  | "garbage"
  | "not a payment"
  | "by X-PAYMENT"
  | "other amount"
  | "other payee"
  | "expired"
  | "unfunded"
  | "bad signature";

export type FacilitatorPlan =
  | "works"
  | "verify throws"
  | "verify refuses"
  | "settle refuses"
  | "settle throws"
  | "settle throws after it moved money";

const often = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 3 * others.length, arbitrary: fc.constant(usual) },
    { weight: others.length, arbitrary: fc.constantFrom(...others) },
  );

const option: fc.Arbitrary<OptionPlan> = fc.record({
  scheme: often<OptionPlan["scheme"]>("exact", "upto"),
  price: often<OptionPlan["price"]>("$0.001", "0.001", 0.002, "$0.25", "0.001 USD", "asset", "by the query"),
  payTo: often<OptionPlan["payTo"]>("fixed", "by a function"),
  maxTimeoutSeconds: often<number | undefined>(undefined, 60),
  upfront: often(false, true),
});

const KEYS = ["/thing", "POST /thing", "GET /thing/:id", "GET /files/*", "GET /thing/[id]", "ALL /thing"];
const PATHS = ["/thing/7", "/thing/", "/THING", "/th%69ng", "/free", "/files/a/b.txt", "/thing/a%2Fb"];

/** All that one run tries. */
export const plans: fc.Arbitrary<Plan> = fc.record({
  depth: fc.constantFrom<Plan["depth"]>(1, 2),
  key: often("GET /thing", ...KEYS),
  options: fc.array(option, { minLength: 1, maxLength: 2 }),
  route: fc.record({
    description: often<string | undefined>("A thing", undefined, "d".repeat(600)),
    mimeType: often<string | undefined>("application/json", undefined),
    resource: often<string | undefined>(undefined, "https://shop.example/thing"),
    unpaidBody: often(false, true),
    failedBody: often(false, true),
    page: often(false, true),
    bazaar: often(false, true),
  }),
  hooks: fc.record({
    onProtectedRequest: often<HookPlan>("none", "watch", "throw", "abort", "grant"),
    onBeforeVerify: often<HookPlan>("none", "watch", "throw", "abort", "skip"),
    onAfterVerify: often<HookPlan>("none", "watch", "throw", "abort", "skip the handler"),
    onVerifyFailure: often<HookPlan>("watch", "none", "recover"),
    onBeforeSettle: often<HookPlan>("none", "watch", "throw", "abort", "skip"),
    onAfterSettle: often<HookPlan>("watch", "none", "throw"),
    onSettleFailure: often<HookPlan>("watch", "none", "recover"),
    onVerifiedPaymentCanceled: often<HookPlan>("watch", "throw"),
  }),
  handler: fc.record({
    status: often(200, 201, 204, 302, 304, 400, 404, 500),
    body: often<HandlerPlan["body"]>("json", "text", "empty", "two writes", "throw", "writeHead"),
    cacheControl: often<string | undefined>(undefined, "public, max-age=60", "no-store"),
    override: often<string | undefined>(undefined, "500", "50%", "0", "1.5"),
  }),
  request: fc.record({
    method: often<RequestPlan["method"]>("GET", "POST", "HEAD", "PUT"),
    path: often("/thing", ...PATHS),
    query: often("", "?tier=premium", "?a=1&a=2"),
    isBrowser: often(false, true),
  }),
  payment: fc.oneof(
    { weight: 10, arbitrary: fc.constant<PaymentPlan>("good") },
    {
      weight: 12,
      arbitrary: fc.constantFrom<PaymentPlan>(
        "none",
        "twice",
        "at once",
        "garbage",
        "not a payment",
        "by X-PAYMENT",
        "other amount",
        "other payee",
        "expired",
        "unfunded",
        "bad signature",
      ),
    },
  ),
  facilitator: often<FacilitatorPlan>(
    "works",
    "verify throws",
    "verify refuses",
    "settle refuses",
    "settle throws",
    "settle throws after it moved money",
  ),
});
