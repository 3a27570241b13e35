/**
 * The participants in a payment on Solana, those of Farebox and of the reference, with one interface each.
 *
 * @module
 */
import { paymentMiddleware } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { x402Facilitator } from "@x402/core/facilitator";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { paymentMiddleware as referenceMiddleware, x402ResourceServer } from "@x402/express";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { toFacilitatorSvmSigner } from "@x402/svm";
import { ExactSvmScheme as ClientScheme } from "@x402/svm/exact/client";
import { ExactSvmScheme as FacilitatorScheme } from "@x402/svm/exact/facilitator";
import { ExactSvmScheme as ServerScheme } from "@x402/svm/exact/server";
import express, { type Express } from "express";
import { FEE_PAYER, type Keypair, NETWORK, PAY_TO } from "../../packages/svm/src/payments.fixture.js";
import { endpointsOf, PATIENT_SELLER, weatherSeller } from "../interop/servers.js";

/** Our facilitator. */
export async function ourFacilitator(rpcUrl: string): Promise<Express> {
  const options = { rpcUrl, privateKey: FEE_PAYER.secretKey, pollingIntervalMs: 10, requestTimeoutMs: 60_000 };
  const chain = createRpcSvmChain({ network: NETWORK, ...options });
  return express().use(
    facilitatorRouter(createFacilitator({ schemes: [createExactSvmScheme({ chain })] }), { open: true }),
  );
}

/** The reference's facilitator classes behind the three endpoints of the specification. */
export async function referenceFacilitator(rpcUrl: string): Promise<Express> {
  const signer = await createKeyPairSignerFromBytes(FEE_PAYER.secretKey);
  const scheme = new FacilitatorScheme(toFacilitatorSvmSigner(signer, { defaultRpcUrl: rpcUrl }));
  const facilitator = new x402Facilitator().register(NETWORK, scheme);
  return endpointsOf(facilitator);
}

const ACCEPTS = { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAY_TO.toBase58() } as const;

/** A seller with Farebox. */
export function ourSeller(facilitatorUrl: string, extra: Readonly<Record<string, unknown>> = {}): Express {
  const accepts = { ...ACCEPTS, extra };
  return weatherSeller(
    paymentMiddleware(
      { "GET /weather": { accepts } },
      { ...PATIENT_SELLER, strict: false, facilitator: facilitatorUrl },
    ),
  );
}

/** A seller with the reference, which gets the fee payer from the facilitator. */
export function referenceSeller(facilitatorUrl: string, extra: Readonly<Record<string, unknown>> = {}): Express {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  server.register(NETWORK, new ServerScheme());
  const routes = { "GET /weather": { accepts: { ...ACCEPTS, extra }, description: "", mimeType: "" } };
  return weatherSeller(referenceMiddleware(routes, server));
}

/** `@x402/fetch` with `@x402/svm`, unchanged. */
export async function referenceClient(key: Keypair, rpcUrl: string): Promise<typeof fetch> {
  const client = new ClientScheme(await createKeyPairSignerFromBytes(key.secretKey), { rpcUrl });
  return wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "solana:*", client }] }) as typeof fetch;
}
