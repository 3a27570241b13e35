// A seller who has come from @x402/express, in TypeScript, with an extension. Otherwise as seller.ts.
import type { AddressInfo } from "node:net";
import { paymentMiddleware, x402ResourceServer } from "@farebox/compat";
import { HTTPFacilitatorClient } from "@farebox/compat/core/server";
import { ExactEvmScheme } from "@farebox/compat/evm/exact/server";
import {
  createSIWxResourceServerExtension,
  declareSIWxExtension,
  InMemorySIWxStorage,
} from "@farebox/compat/extensions/sign-in-with-x";
import express from "express";

const facilitator = new HTTPFacilitatorClient({ url: process.env["FACILITATOR_URL"] ?? "" });
const server = new x402ResourceServer(facilitator)
  .register("eip155:84532", new ExactEvmScheme())
  .registerExtension(createSIWxResourceServerExtension({ storage: new InMemorySIWxStorage() }));

const app = express();
app.use(
  paymentMiddleware(
    {
      "GET /weather": {
        accepts: {
          scheme: "exact",
          price: "$0.001",
          network: "eip155:84532",
          payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
        },
        extensions: declareSIWxExtension({ statement: "Sign in to read it again" }),
      },
    },
    server,
  ),
);
app.get("/weather", (_req, res) => {
  res.json({ report: "sunny" });
});

const listening = app.listen(0, "127.0.0.1", async () => {
  const response = await fetch(`http://127.0.0.1:${(listening.address() as AddressInfo).port}/weather`);
  console.log(JSON.stringify({ status: response.status, challenge: response.headers.get("PAYMENT-REQUIRED") }));
  listening.close();
});
