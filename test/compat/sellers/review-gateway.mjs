// Reviews with a journal: each payment is written down before it settles and after, by what the request's own context holds.
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware } from "@x402/express";
import express from "express";

const requests = new AsyncLocalStorage();
export const journal = [];

const gateway = new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL })).register(
  "eip155:84532",
  new ExactEvmScheme(),
);
gateway
  .onBeforeVerify(async (context) => {
    journal.push(["verify", requests.getStore()?.id, context.requirements.amount]);
    if (requests.getStore()?.id === "banned") return { abort: true, reason: "banned_client" };
  })
  .onAfterVerify(async ({ result }) => void journal.push(["verified", result.isValid]))
  .onBeforeSettle(async ({ paymentPayload }) => {
    const request = requests.getStore();
    if (request?.reservation === undefined) {
      return { abort: true, reason: "reservation_missing", message: "The review was not reserved." };
    }
    journal.push(["settling", request.reservation, typeof paymentPayload.payload.authorization.from]);
  })
  .onAfterSettle(async ({ result, transportContext }) => {
    const hash = createHash("sha256").update(transportContext.responseBody).digest("hex").slice(0, 8);
    journal.push(["settled", requests.getStore()?.reservation, result.success, hash.length]);
  })
  .onVerifiedPaymentCanceled(
    async ({ reason, responseStatus }) => void journal.push(["cancelled", reason, responseStatus]),
  )
  .onSettleFailure(async ({ error }) => void journal.push(["failed", error.message]));

export const app = express();
app.use((req, _res, next) => requests.run({ id: req.get("x-client") }, next));
app.use(
  paymentMiddleware(
    {
      "/reviews/:paper": {
        accepts: { scheme: "exact", price: "$0.25", network: process.env.NETWORK, payTo: process.env.PAY_TO },
      },
    },
    gateway,
  ),
);
app.get("/reviews/:paper", (req, res) => {
  if (req.params.paper === "missing") return res.status(404).json({ error: "no such paper" });
  if (req.params.paper !== "unreserved") requests.getStore().reservation = `r-${req.params.paper}`;
  res.json({ paper: req.params.paper, verdict: "accept" });
});
