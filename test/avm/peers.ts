/**
 * The participants in a payment on Algorand, those of Farebox and of the reference, with one interface each.
 *
 * @module
 */
import { createPayments, type PaymentOption } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { toClientAvmSigner, toFacilitatorAvmSigner } from "@x402/avm";
import { ExactAvmScheme as ClientScheme } from "@x402/avm/exact/client";
import { ExactAvmScheme as FacilitatorScheme } from "@x402/avm/exact/facilitator";
import { ExactAvmScheme as ServerScheme } from "@x402/avm/exact/server";
import { x402Facilitator } from "@x402/core/facilitator";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { paymentMiddleware as referenceMiddleware, x402ResourceServer } from "@x402/express";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import express, { type Express } from "express";
import { type Account, base64, FEE_PAYER, NETWORK, PAY_TO } from "../../packages/avm/src/payments.fixture.js";
import { endpointsOf, PATIENT_SELLER, weatherSeller } from "../interop/servers.js";
import { facilitatorOf } from "./both-sides.js";
import type { LocalAlgod } from "./local-algod.js";

/** Our facilitator. */
export function ourFacilitator(local: LocalAlgod, network: string = NETWORK): Express {
  return express().use(
    facilitatorRouter(createFacilitator({ schemes: [facilitatorOf(local, { network })] }), { open: true }),
  );
}

/** The reference's facilitator classes behind the three endpoints of the specification. */
export function referenceFacilitator({ url }: LocalAlgod, network: `algorand:${string}` = NETWORK): Express {
  const signer = toFacilitatorAvmSigner(base64(FEE_PAYER.sk), { testnetUrl: url });
  const facilitator = new x402Facilitator().register(network, new FacilitatorScheme(signer));
  return endpointsOf(facilitator);
}

const ACCEPTS = { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAY_TO.toString() } as const;

/** A seller with Farebox, which gets the fee payer from the facilitator. */
export async function ourSeller(
  facilitatorUrl: string,
  options: Partial<Parameters<typeof createPayments>[0]> = {},
  accepts: PaymentOption = ACCEPTS,
): Promise<Express> {
  const payments = createPayments({ ...PATIENT_SELLER, strict: false, facilitator: facilitatorUrl, ...options });
  const app = weatherSeller(payments.routes({ "GET /weather": { accepts } }));
  await payments.ready(app);
  return app;
}

/** A seller with the reference, which gets the fee payer from the facilitator. */
export async function referenceSeller(facilitatorUrl: string): Promise<Express> {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  server.register(NETWORK, new ServerScheme());
  const routes = { "GET /weather": { accepts: ACCEPTS, description: "", mimeType: "" } };
  return weatherSeller(referenceMiddleware(routes, server));
}

/** `@x402/fetch` with `@x402/avm`, unchanged. */
export function referenceClient(payer: Account, { url }: LocalAlgod, by: typeof fetch = fetch): typeof fetch {
  const client = new ClientScheme(toClientAvmSigner(base64(payer.sk)), { algodUrl: url });
  return wrapFetchWithPaymentFromConfig(by, { schemes: [{ network: "algorand:*", client }] }) as typeof fetch;
}
