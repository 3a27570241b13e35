/**
 * Options and routes that the types accept, and mistakes that they reject at compile time.
 *
 * @module
 */

import { createPaymentsGate } from "./engine.js";
import type { CancelReason, PaymentEvent, PaymentFacts } from "./events/events.js";
import type { Facilitator } from "./facilitator/facilitator.js";
import { createHttpFacilitator } from "./facilitator/http-facilitator.js";
import type { PaymentOption, PaymentsOptions, RoutesConfig } from "./options.js";
import { price, usd } from "./price/exact-price.js";
import type { SettlementResponse } from "./protocol/documents.js";
import { createMemoryStore } from "./store/memory-store.js";

const payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const accepts = { network: "eip155:84532", price: "$0.01", payTo } as const;

function routes(_table: RoutesConfig): void {}
function option(_option: PaymentOption): void {}
function options(_options: PaymentsOptions): void {}

// Route keys.
routes({ "GET /weather": { accepts }, "/any": { accepts: [accepts] }, "DELETE /": { price: "$1" } });
routes({ "OPTIONS /a/:b/*c": { accepts }, "/": { price: "$1" } });
// @ts-expect-error a path begins with a slash
routes({ "GET weather": { accepts } });
// @ts-expect-error no such method
routes({ "FETCH /x": { accepts } });
// @ts-expect-error methods are written in upper case
routes({ "get /x": { accepts } });
// @ts-expect-error a path begins with a slash
routes({ weather: { accepts } });
// @ts-expect-error a method needs a path
routes({ GET: { accepts } });
// @ts-expect-error a route is an object
routes({ "GET /x": "$0.01" });
// @ts-expect-error no such key
routes({ "GET /x": { accepts, prize: "$1" } });

// Prices.
option(accepts);
option({ ...accepts, price: { asset: "0xA", amount: "1", extra: { name: "T", version: "1" } } });
option({ ...accepts, price: "$1" });
option({ ...accepts, price: "0.10 USDT" });
option({ ...accepts, price: () => "$0.10 USDT" });
routes({ "GET /x": { accepts: { ...accepts, price: "$0" }, free: true } });
option({ ...accepts, price: () => "$0.01" });
option({
  ...accepts,
  price: async ({ pathParams, header, body, search }) => {
    const isPaid = header("x-plan") !== undefined && body !== undefined && search !== "";
    return pathParams["city"] === "Paris" && isPaid ? "$1" : { asset: "0xA", amount: "1" };
  },
});
option({ ...accepts, payTo: ({ route }) => (route === "GET /a" ? "0xA" : "0xB") });
// @ts-expect-error a function returns a price
option({ ...accepts, price: () => 5 });
// @ts-expect-error free is a boolean
routes({ "GET /x": { accepts, free: "yes" } });
// @ts-expect-error prices are texts
option({ ...accepts, price: 0.01 });
// @ts-expect-error amounts are texts
option({ ...accepts, price: { asset: "0xA", amount: 1 } });
// @ts-expect-error the asset is missing
option({ ...accepts, price: { amount: "1" } });

// Networks.
option({ ...accepts, network: "eip155:8453" });
option({ ...accepts, network: "cosmos:hub" });
option({
  network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  price: "$1",
  payTo: "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
});
// @ts-expect-error the network is missing
option({ price: "$1", payTo });

// @ts-expect-error a network is a text
option({ ...accepts, network: 8453 });

// Texts, such as those of the environment, are checked at start.
declare const text: string;
option({ scheme: text, price: text, network: text, payTo: text });
option({ ...accepts, price: () => text, payTo: async () => text });
routes({ "GET /x": { price: text, accepts: { network: text } } });
options({ facilitator: text, payTo: { [text]: text }, networks: [text], rpc: { [text]: text } });
options({ facilitator: { url: text, networks: [text, "eip155:*"] }, payTo: { "eip155:*": text, "test:*": text } });

// Computed prices.
option({ ...accepts, price: usd("0.002").times(3) });
option({ ...accepts, price: ({ body }) => price("0.002 USDT").times(String(body).length).plus("0.01 USDT").roundUp() });
routes({ "GET /x": { accepts, price: usd(text).times(3n).times("0.5").roundDown(2) } });
// @ts-expect-error an amount is a text
usd(0.01);
// @ts-expect-error a price is a text
price("$1").plus(1);

// Addresses.
option({ network: "eip155:1", price: "$1" });

// Options.
const facilitator = "https://x402.org/facilitator";
options({ facilitator });
options({ facilitator: new URL(facilitator) });
options({ facilitator: { url: facilitator, headers: async () => ({ authorization: "x" }) } });
options({ facilitator, payTo: { "eip155:*": payTo, "solana:*": "any" }, networks: ["eip155:84532"] });
options({ facilitator, store: createMemoryStore(), logger: console, now: () => 0, deadlines: { verifyMs: 100 } });
options({ facilitator, rpc: { "eip155:84532": "https://node.example", "eip155:1": new URL("http://localhost") } });
const verifying: Facilitator = createHttpFacilitator({ url: facilitator });
options({ facilitator: [facilitator, new URL(facilitator), verifying, { facilitator: verifying, name: "own" }] });
options({ facilitator: { url: facilitator, networks: ["eip155:*", "eip155:84532"], name: "x402.org" } });
options({ facilitator: [{ facilitator: verifying, networks: ["solana:*"] }] as const });
// @ts-expect-error networks are lists
options({ facilitator: { url: facilitator, networks: "eip155:*" } });
// @ts-expect-error the facilitator is missing
options({});
// @ts-expect-error no such option
options({ facilitator, payto: {} });
// @ts-expect-error headers are texts
options({ facilitator: { url: facilitator, headers: { a: 1 } } });
// @ts-expect-error half a facilitator
options({ facilitator: { verify: async () => ({ isValid: true }) } });
// @ts-expect-error addresses are given by network
options({ facilitator, payTo });
// @ts-expect-error a URL by network
options({ facilitator, rpc: "https://node.example" });
// @ts-expect-error no such deadline
options({ facilitator, deadlines: { verify: 100 } });
// @ts-expect-error half a logger
options({ facilitator, logger: { info: () => {} } });

// Hooks: with and without a result, synchronous and asynchronous.
options({ facilitator, hooks: {} });
options({
  facilitator,
  hooks: {
    onRequest: ({ header }) => (header("x-api-key") === "k" ? { grant: true } : undefined),
    beforeVerify: async ({ payer }) => (payer === "0x0" ? { deny: "Not you", status: 403 } : undefined),
    afterVerify() {},
    async beforeSettle() {},
    afterSettle: (facts, receipt) => void [facts.amount satisfies string, receipt.success satisfies boolean],
    onSettleUnknown: async ({ payment }) => void (payment satisfies string),
    onCancel: (_facts, reason) => void (reason satisfies CancelReason),
    onHandlerFailed: async (_facts, { status, owesRun }) =>
      owesRun && status === 503 ? undefined : { refunded: true },
  },
});
options({
  facilitator,
  deadlines: { hookMs: 1000 },
  hooks: {
    onRequest: ({ headers, body, native }) => ({
      deny: String(headers["a"]),
      status: 402,
      body: { contentType: "a/b", body: [body, native] },
    }),
    beforeVerify: ({ payload }) => (payload.x402Version === 2 ? { verified: true } : { deny: true }),
    afterVerify: async ({ requirements }) => ({ respond: { contentType: "text/plain", body: requirements.amount } }),
    onVerifyFailed: (_payment, { reason, message = "" }) => void [reason satisfies string, message satisfies string],
    async onPaid({ receipt, response, request }) {
      void [receipt.transaction satisfies string, response?.status satisfies number | undefined, request?.search];
    },
  },
});
// @ts-expect-error only beforeVerify verifies
options({ facilitator, hooks: { afterVerify: () => ({ verified: true }) } });
// @ts-expect-error only afterVerify responds
options({ facilitator, hooks: { beforeSettle: () => ({ respond: { contentType: "text/plain", body: "" } }) } });
// @ts-expect-error a body has a type
options({ facilitator, hooks: { beforeSettle: () => ({ deny: true, body: "no" }) } });
// @ts-expect-error a settlement in the background has no request
options({ facilitator, hooks: { onPaid: ({ request }) => void request.path } });
options({ facilitator, hooks: { onRequest: async (request) => (request.hasPayment ? undefined : { deny: true }) } });
// @ts-expect-error no such hook
options({ facilitator, hooks: { onrequest: () => {} } });
// @ts-expect-error a boolean is not a result
options({ facilitator, hooks: { onRequest: () => true } });
// @ts-expect-error nor is a promise of a boolean
options({ facilitator, hooks: { beforeVerify: async () => false } });
// @ts-expect-error a grant is true
options({ facilitator, hooks: { onRequest: () => ({ grant: false }) } });
// @ts-expect-error only onRequest grants
options({ facilitator, hooks: { afterVerify: () => ({ grant: true }) } });
// @ts-expect-error a status is a number
options({ facilitator, hooks: { beforeSettle: () => ({ deny: "no", status: "403" }) } });
// @ts-expect-error a denial needs deny
options({ facilitator, hooks: { beforeSettle: () => ({ status: 403 }) } });
// @ts-expect-error there is no receipt before verification
options({ facilitator, hooks: { beforeVerify: (_facts: PaymentFacts, _receipt: SettlementResponse) => {} } });

// The gate and its decisions.
const { engine, gate } = createPaymentsGate({ "GET /a": { accepts } }, { facilitator }, { schemes: [] });
const decision = await gate.decide({
  method: "GET",
  path: "/a",
  mountPath: "",
  search: "",
  origin: undefined,
  accept: undefined,
  userAgent: undefined,
  paymentSignature: undefined,
});
if (decision.kind === "run") decision.admission.payment.amount satisfies string;
// @ts-expect-error only a decision to respond has a response
decision.response;
// @ts-expect-error a payment is read-only
if (decision.kind === "run") decision.admission.payment.amount = "0";

// Events.
engine.on("settled", (event) => {
  event.transaction satisfies string;
  event.durationMs satisfies number;
  event.type satisfies "settled";
  // @ts-expect-error an event is read-only
  event.transaction = "";
});
engine.on("cancelled", ({ reason }) => reason satisfies CancelReason)();
engine.on("facilitator_down", async ({ facilitator: name }) => void (name satisfies string));
// @ts-expect-error no such event
engine.on("paid", () => {});
// @ts-expect-error a challenge has no payer
engine.on("challenged", ({ payer }) => payer);
// @ts-expect-error the listener is missing
engine.on("settled");
const onAny = (event: PaymentEvent) => (event.type === "settled" ? event.transaction : event.atMs);
engine.on("challenged", onAny);
engine.on("settled", onAny);

/** A settle response without success does not compile. */
export const forgetful: Pick<Facilitator, "settle"> = {
  // @ts-expect-error success is missing
  settle: async () => ({ transaction: "0x", network: "eip155:1" }),
};
