/**
 * What a seller who changes over is told at start: what will be different for these routes, hooks and schemes, and nothing else.
 *
 * @module
 */

import {
  ExactEvmScheme,
  ExactSvmScheme,
  HTTPFacilitatorClient,
  paymentMiddleware,
  paymentMiddlewareFromHTTPServer,
  type RoutesConfig,
  type SchemeNetworkServer,
  x402HTTPResourceServer,
  x402ResourceServer,
} from "@farebox/compat";
import * as ours from "@farebox/compat/extensions";
import type { LogFields } from "@farebox/core";
import * as theirs from "@x402/extensions";
import { expect, test } from "vitest";
import { NETWORK, openStage, PAY_TO, PAY_TO_SVM, quietApp, SOLANA } from "./stage.js";

const OPTION = { scheme: "exact", price: "$0.01", network: NETWORK, payTo: PAY_TO } as const;

interface Told {
  readonly options: { readonly logger: Record<"info" | "warn" | "error", (event: string, fields: LogFields) => void> };
  readonly lines: string[];
}

/** Each line is told once per process, so keys are of their own in each test. */
function listen(): Told {
  const lines: string[] = [];
  const warn = (event: string, { route, message }: LogFields) => {
    if (event === "FAREBOX_COMPAT") lines.push(route === undefined ? `${message}` : `${route}: ${message}`);
  };
  return { lines, options: { logger: { info() {}, warn, error() {} } } };
}

function server(): x402ResourceServer {
  return new x402ResourceServer(new HTTPFacilitatorClient({ url: "https://facilitator.example" })).register(
    NETWORK,
    new ExactEvmScheme(),
  );
}

function toldOf(routes: RoutesConfig, registered = server()): readonly string[] {
  const { options, lines } = listen();
  paymentMiddleware(routes, registered, undefined, undefined, true, options);
  return lines;
}

// What is told to every seller, before the tests count lines.
toldOf({ "POST /told-0": { accepts: OPTION } });

test.each([
  ["GET /told-1", "GET /told-1: HEAD is priced, too"],
  [
    "POST /told-2/",
    "POST /told-2/: also prices the path without its last slash; with the reference, it prices nothing",
  ],
  ["ALL /told-3", "ALL /told-3: prices every method; with the reference, it prices nothing"],
  [
    "POST /told-4/*rest",
    "POST /told-4/*rest: is read as Express 5 writes paths; with the reference, it prices nothing",
  ],
])("the key %s prices more", (key, line) => {
  expect(toldOf({ [key]: { accepts: OPTION } })).toContain(line);
});

test("a key behind a wildcard has a price of its own", () => {
  const routes = {
    "/told-5/*": { accepts: OPTION },
    "POST /told-5/cheap": { accepts: { ...OPTION, price: "$0.001" } },
  };
  expect(toldOf(routes)).toContain(
    'POST /told-5/cheap: has its own price, not that of "/told-5/*", which stands before it',
  );
  const inOrder = { "POST /told-6/cheap": { accepts: OPTION }, "/told-6/*": { accepts: OPTION } };
  expect(toldOf(inOrder)).toEqual([]);
});

test("a long description is cut", () => {
  const routes = { "POST /told-7": { accepts: OPTION, description: "d".repeat(501) } };
  expect(toldOf(routes)).toEqual([
    "POST /told-7: its description has 501 characters, and is cut to 500: facilitators refuse longer ones",
  ]);
});

test("hooks that decide, and hooks that recover, are told of once", async () => {
  const { options, lines } = listen();
  const stage = await openStage();
  const hooked = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }))
    .register(NETWORK, new ExactEvmScheme())
    .onBeforeSettle(async () => {})
    .onSettleFailure(async () => {});
  const httpServer = new x402HTTPResourceServer(hooked, { "POST /told-8": { accepts: OPTION } });
  httpServer.onProtectedRequest(async () => {});
  const app = quietApp().use(paymentMiddlewareFromHTTPServer(httpServer, undefined, undefined, true, options));
  app.post("/told-8", (_req, res) => void res.send("goods"));
  expect((await stage.pay(`${await stage.serve(app)}/told-8`, { method: "POST" })).status).toBe(200);
  expect(lines).toEqual([
    "onProtectedRequest: a hook that throws denies the request",
    "onBeforeSettle: a hook that throws denies the request",
    "onSettleFailure: { recovered } changes nothing",
  ]);
});

test("hooks that are registered after the start are told of when a payment meets them", async () => {
  const { options, lines } = listen();
  const stage = await openStage();
  const hooked = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url })).register(
    NETWORK,
    new ExactEvmScheme(),
  );
  const middleware = paymentMiddleware(
    { "POST /told-10": { accepts: OPTION } },
    hooked,
    undefined,
    undefined,
    true,
    options,
  );
  const app = quietApp().use(middleware);
  app.post("/told-10", (_req, res) => void res.send("goods"));
  const url = `${await stage.serve(app)}/told-10`;
  hooked.onBeforeVerify(async () => {});
  for (let times = 0; times < 2; times++) expect((await stage.pay(url, { method: "POST" })).status).toBe(200);
  hooked.onVerifyFailure(async () => {});
  expect((await stage.pay(url, { method: "POST" })).status).toBe(200);
  expect(lines).toEqual([
    "onBeforeVerify: a hook that throws denies the request",
    "onVerifyFailure: { recovered } changes nothing",
  ]);
});

test("a scheme that is hosted, and a node that is not asked", () => {
  const foreign: SchemeNetworkServer = {
    scheme: "exact",
    parsePrice: async () => ({ asset: "a", amount: "1" }),
    enhancePaymentRequirements: async (requirements) => requirements,
  };
  const registered = server()
    .register("stellar:told", foreign)
    .register(SOLANA, new ExactSvmScheme({ rpcUrl: "https://rpc.example" }));
  const accepts = [
    { ...OPTION, network: "stellar:told", payTo: "G" } as const,
    { ...OPTION, network: SOLANA, payTo: PAY_TO_SVM } as const,
  ];
  expect(toldOf({ "POST /told-9": { accepts } }, registered)).toEqual([
    "exact on stellar:told is hosted: each challenge waits for its scheme, and only the facilitator can tell a payment that was used",
    `exact on ${SOLANA}: rpcUrl is not used, as no node is asked for a challenge`,
  ]);
});

test("sign-in by hooks is told where it grants too much, or nothing", () => {
  const extensions = ours.declareSIWxExtension();
  const told = (hooks: typeof theirs | typeof ours, key: string, more: object = {}) => {
    const { options, lines } = listen();
    const storage = new ours.InMemorySIWxStorage();
    const request = hooks.createSIWxRequestHook({ storage, origin: "https://api.example.com", ...more } as never);
    const registered = server().onAfterSettle(hooks.createSIWxSettleHook({ storage, ...more } as never) as never);
    const httpServer = new x402HTTPResourceServer(registered, { [key]: { accepts: OPTION, extensions } });
    httpServer.onProtectedRequest(request as never);
    paymentMiddlewareFromHTTPServer(httpServer, undefined, undefined, true, options);
    return lines.filter((line) => line.includes("SIWx"));
  };
  expect(told(theirs, "GET /told-siwx-1")).toEqual([expect.stringMatching(/siwx-1: .* grant any request to a path/)]);
  expect(told(ours, "GET /told-siwx-2")).toEqual([]);
  expect(told(ours, "POST /told-siwx-3")).toEqual([expect.stringMatching(/siwx-3: nobody signs in without/)]);
  expect(told(ours, "POST /told-siwx-4", { resourceOf: ({ path }: { path: string }) => path })).toEqual([]);
});
