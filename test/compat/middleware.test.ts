/**
 * The reference's `express` example, with as much of it changed as a seller may change.
 *
 * @module
 */
import { paymentMiddleware } from "@farebox/compat";
import { describe, expect, test } from "vitest";
import {
  type Classes,
  DEPTHS,
  decode,
  NETWORK,
  openStage,
  PAY_TO,
  PAY_TO_SVM,
  QUIET,
  quietApp,
  SOLANA,
  type Stage,
} from "./stage.js";

/** As the example is written. */
function weatherApp(
  { x402ResourceServer, HTTPFacilitatorClient, ExactEvmScheme, ExactSvmScheme }: Classes,
  url: string,
) {
  const facilitatorClient = new HTTPFacilitatorClient({ url });
  const app = quietApp();
  app.use(
    paymentMiddleware(
      {
        "GET /weather": {
          accepts: [
            { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAY_TO },
            { scheme: "exact", price: "$0.001", network: SOLANA, payTo: PAY_TO_SVM },
          ],
          description: "Weather data",
          mimeType: "application/json",
        },
      },
      new x402ResourceServer(facilitatorClient)
        .register(NETWORK, new ExactEvmScheme())
        .register(SOLANA, new ExactSvmScheme()),
      undefined,
      undefined,
      true,
      QUIET,
    ),
  );
  app.get("/weather", (_req, res) => void res.send({ report: { weather: "sunny", temperature: 70 } }));
  app.get("/free", (_req, res) => void res.send("free"));
  return app;
}

async function openShop(classes: Classes): Promise<Stage & { readonly url: string }> {
  const stage = await openStage();
  return { ...stage, url: await stage.serve(weatherApp(classes, stage.facilitatorServer.url)) };
}

describe.each(DEPTHS)("if %s", (_depth, classes) => {
  test("the example is paid by the reference's client", async () => {
    const { pay, payer, url, income } = await openShop(classes);
    const response = await pay(`${url}/weather`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ report: { weather: "sunny", temperature: 70 } });
    expect(decode(response.headers.get("PAYMENT-RESPONSE"))).toMatchObject({ success: true, payer, network: NETWORK });
    expect(income()).toBe(1000n);
  });

  test("an unpaid request gets the example's terms, and other routes are free", async () => {
    const { url } = await openShop(classes);
    const response = await fetch(`${url}/weather`);
    expect(response.status).toBe(402);
    const challenge = decode(response.headers.get("PAYMENT-REQUIRED"));
    expect(challenge).toMatchObject({
      x402Version: 2,
      resource: { url: `${url}/weather`, description: "Weather data", mimeType: "application/json" },
      accepts: [{ scheme: "exact", network: NETWORK, amount: "1000", payTo: PAY_TO, maxTimeoutSeconds: 300 }],
    });
    expect(await (await fetch(`${url}/free`)).text()).toBe("free");
  });
});
