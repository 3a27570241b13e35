/**
 * A header that leaves something out: the reference's clients pay by it and send it back, and the facilitator and its catalog get what it
 * lacks from the seller all the same.
 *
 * @module
 */
import type { FacilitatorRequest, JsonObject, PaymentRequired } from "@farebox/core";
import { createPayments } from "@farebox/express";
import express from "express";
import { generatePrivateKey } from "viem/accounts";
import { describe, expect, onTestFinished, test } from "vitest";
import { PAYEE, yesScheme } from "../catalog/library.js";
import { entriesOf, openHere, serve } from "../catalog/sellers.js";
import { axiosClient, fetchClient } from "./peers.js";
import { decode, PATIENT_SELLER } from "./servers.js";

/** Networks with a stablecoin of their own. The clients pay on the first. */
const NETWORKS = [
  84532, 8453, 1, 43114, 137, 42161, 421614, 143, 988, 2201, 36900, 190415, 181228, 50, 51, 14, 42220, 11142220, 1329,
  1328,
].map((id) => `eip155:${id}` as const);

/** Each offer has these in the body. */
const FIELDS = [
  ...["scheme", "network", "amount", "asset", "payTo", "maxTimeoutSeconds", "extra"],
  ...["maxAmountRequired", "resource", "description", "mimeType", "outputSchema"],
];

const SCHEMA = "extensions.bazaar.schema";
const RESOURCE = ["description", "mimeType", "resource"];

function declare(parameters: number) {
  const all = Array.from({ length: parameters }, (_, at) => `parameter${at}`);
  return {
    input: Object.fromEntries(all.map((name) => [name, `example of ${name}`])),
    inputSchema: {
      queryParams: Object.fromEntries(
        all.map((name, at) => [name, { type: "string", description: `${at} – größer als zuvor`, required: at === 0 }]),
      ),
    },
    outputSchema: { type: "object", properties: { weather: { type: "string", description: "晴れ、曇り、雨" } } },
  };
}

/** A seller whose route has so many offers and parameters, and what everybody was told. */
async function open(offers: number, parameters: number) {
  const networks = NETWORKS.slice(0, offers);
  const clock = { now: Date.now() };
  const schemes = networks.map((network) => yesScheme("exact", network));
  const library = await openHere({ schemes, now: () => clock.now });
  const asked: FacilitatorRequest[] = [];
  const heard = {
    supported: () => library.facilitator.supported(),
    verify: (request: FacilitatorRequest) => {
      asked.push(request);
      return library.facilitator.verify(request);
    },
    settle: (request: FacilitatorRequest) => {
      asked.push(request);
      return library.facilitator.settle(request);
    },
  };
  const payments = createPayments({
    ...PATIENT_SELLER,
    ...{ facilitator: heard, strict: false, networks, payTo: { "eip155:*": PAYEE } },
  });
  onTestFinished(() => payments.close());
  const sent: JsonObject[] = [];
  const app = express();
  app.use((req, _res, next) => {
    const payment = req.get("PAYMENT-SIGNATURE");
    if (payment !== undefined) sent.push(decode(payment));
    next();
  });
  const route = { price: "$0.001", mimeType: "application/json", extensions: { bazaar: declare(parameters) } } as const;
  app.use(payments.routes({ "GET /weather": { ...route, description: "Das Wetter, überall und jederzeit ☀️" } }));
  app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
  const { url } = await serve(app);
  return { library, clock, asked, sent, payments, app, url: `${url}/weather` };
}

describe.each([
  ["@x402/fetch", fetchClient],
  ["@x402/axios", axiosClient],
])("%s", (_name, client) => {
  test.each<[offers: number, parameters: number, truncated: string[] | undefined]>([
    [2, 1, undefined],
    [3, 3, [SCHEMA]],
    [3, 6, [SCHEMA, "examples"]],
    [3, 10, [SCHEMA, "examples"]],
    [3, 16, [SCHEMA, "examples"]],
    [8, 16, [SCHEMA, "examples"]],
    [12, 6, [SCHEMA, "examples", "extensions.bazaar", ...RESOURCE, "outputSchema.output"]],
    [20, 6, [SCHEMA, "examples", "extensions.bazaar", ...RESOURCE, "outputSchema.output", "outputSchema"]],
  ])("pays for one of %i offers with %i parameters, and the catalog lists all of the declaration", async (...plan) => {
    const [offers, parameters, truncated] = plan;
    const { library, clock, asked, sent, payments, app, url } = await open(offers, parameters);
    const unpaid = await fetch(url);
    const header = unpaid.headers.get("PAYMENT-REQUIRED") ?? "";
    const short = decode(header) as unknown as PaymentRequired;
    const whole = (await unpaid.json()) as PaymentRequired;
    expect(header.length).toBeLessThanOrEqual(8192);
    const fields = FIELDS.filter((name) => !truncated?.includes(name));
    for (const [at, offer] of whole.accepts.entries()) {
      expect(Object.keys(offer).sort()).toEqual([...FIELDS].sort());
      expect(Object.keys(short.accepts[at] ?? {}).sort()).toEqual([...fields].sort());
      const { output = offer.outputSchema?.output } = short.accepts[at]?.outputSchema ?? {};
      expect(output).toEqual(offer.outputSchema?.output);
    }
    expect(short.extensions?.["farebox"]?.["truncated"]).toEqual(truncated);

    const { status, json, receipt } = await client(generatePrivateKey(), url);
    expect([status, json, receipt]).toMatchObject([200, { weather: "sunny" }, { success: true }]);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.["extensions"]).toEqual(short.extensions);
    // Whatever the client sent back, the facilitator gets the seller's own.
    expect(asked).toHaveLength(2);
    const { bazaar } = whole.extensions ?? {};
    expect(bazaar).toMatchObject({ info: { input: {}, output: {} }, schema: { type: "object" } });
    for (const { paymentPayload } of asked) expect(paymentPayload.extensions).toEqual({ bazaar });

    await library.catalog.checkDue();
    clock.now += 24 * 60 * 60 * 1_000;
    await library.catalog.checkDue();
    const [entry, ...others] = await entriesOf(library);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ resource: url, extensions: { bazaar } });
    expect(await client(generatePrivateKey(), url)).toMatchObject({ status: 200 });
    expect(payments.listing("GET /weather")).toMatchObject({ status: "success" });

    const { routes, findings } = await payments.ready(app);
    expect(routes[0]?.leftOut).toEqual(truncated ?? []);
    const large = findings.filter(({ code }) => code.startsWith("FAREBOX_CHALLENGE"));
    expect(large.map(({ code }) => code)).toEqual(header.length > 4096 ? ["FAREBOX_CHALLENGE_LARGE"] : []);
  });
});
