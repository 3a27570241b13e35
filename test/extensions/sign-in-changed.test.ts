/**
 * A sign-in is for the request that was signed in: not for what middleware behind the table makes of it.
 *
 * @module
 */
import { createPayments } from "@farebox/express";
import { createSIWxResourceServerExtension, declareSIWxExtension } from "@farebox/extensions";
import { createTestFacilitator } from "@farebox/testing";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { createSIWxPayload, encodeSIWxHeader, type SIWxExtension } from "@x402/extensions/sign-in-with-x";
import type { Express, RequestHandler } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { serve } from "../serving.js";

const ACCEPTS = { network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" } as const;
const QUIET = { info() {}, warn() {}, error() {} };

const override: RequestHandler = (req, _res, next) => {
  req.method = String(req.query["_method"] ?? req.method);
  next();
};

const rewrite: RequestHandler = (req, _res, next) => {
  req.url = req.url.replace(/\?to=(.*)$/, "").replace(/^.*$/, (path) => String(req.query["to"] ?? path));
  next();
};

/** Everybody who signs in has paid for everything, by GET. */
async function openShop(
  express: (typeof VERSIONS)[number][1],
  isReady: boolean,
  build: (app: Express, handler: RequestHandler) => unknown,
) {
  const storage = { hasPaid: () => true, recordPayment() {} };
  const payments = createPayments({
    facilitator: createTestFacilitator(),
    extensions: [createSIWxResourceServerExtension({ storage })],
    logger: QUIET,
  });
  const extensions = declareSIWxExtension({ statement: "Sign in to read it again" });
  const ran: string[] = [];
  const handler: RequestHandler = (req, res) => {
    ran.push(`${req.method} ${req.path}`);
    res.send("served");
  };
  const app = express().set("env", "test");
  app.use(
    payments.routes({
      "GET /article/:id": { accepts: { ...ACCEPTS, price: "$0.001" }, extensions },
      "DELETE /article/:id": { accepts: { ...ACCEPTS, price: "$5" } },
      "GET /book/:id": { accepts: { ...ACCEPTS, price: "$0.001" }, extensions },
      "/note/:id": { accepts: { ...ACCEPTS, price: "$0.001" }, extensions },
    }),
  );
  app.use(override, rewrite);
  build(app, handler);
  if (isReady) await payments.ready(app);
  const origin = await serve(app);
  const account = privateKeyToAccount(generatePrivateKey());
  const signIn = async (path: string) => {
    const { headers } = await fetch(origin + path);
    const challenge = decodePaymentRequiredHeader(headers.get("PAYMENT-REQUIRED") ?? "");
    const declared = challenge.extensions?.["sign-in-with-x"] as SIWxExtension | undefined;
    const payload = await createSIWxPayload(
      { ...declared!.info, ...declared!.supportedChains[0]! },
      account,
      origin + path,
    );
    const { status } = await fetch(origin + path, { headers: { "SIGN-IN-WITH-X": encodeSIWxHeader(payload) } });
    return [status, ran.splice(0)];
  };
  return { signIn };
}

describe.each(VERSIONS)("on %s", (_, express) => {
  describe.each([
    ["without ready", false],
    ["with ready", true],
  ])("%s", (_mode, isReady) => {
    const note = (app: Express, h: RequestHandler) => app.use("/note", h);
    const LAYOUTS: Readonly<Record<string, (app: Express, handler: RequestHandler) => unknown>> = {
      "routes for each method": (app, h) => app.get("/article/:id", h).delete("/article/:id", h).get("/book/:id", h),
      "routes for all methods": (app, h) => app.all("/article/:id", h).all("/book/:id", h),
      "routes with next": (app, h) => app.all(["/article/:id", "/book/:id"], (_req, _res, next) => next(), h),
      "one route for each path": (app, h) => {
        app.route("/article/:id").get(h).delete(h);
        app.route("/book/:id").all(h);
      },
    };

    test.each(Object.entries(LAYOUTS))(
      "a sign-in grants the request that was signed in, and no other: %s",
      async (_name, build) => {
        const { signIn } = await openShop(express, isReady, (app, h) => note(app, h) && build(app, h));
        expect(await signIn("/article/1")).toEqual([200, ["GET /article/1"]]);
        // The method has a price of its own, or none that anybody has named.
        expect(await signIn("/article/1?_method=DELETE")).toEqual([404, []]);
        expect(await signIn("/article/1?to=/book/1")).toEqual([404, []]);
        expect(await signIn("/book/1?to=/book/2")).toEqual([404, []]);
      },
    );

    test("a sign-in for GET grants no other method of a handler for all", async () => {
      const { signIn } = await openShop(express, isReady, (app, h) => {
        app.all("/book/:id", h).all("/article/:id", h).all("/note/:id", h);
      });
      expect(await signIn("/book/1")).toEqual([200, ["GET /book/1"]]);
      expect(await signIn("/book/1?_method=PUT")).toEqual([404, []]);
      expect(await signIn("/book/1?_method=DELETE")).toEqual([404, []]);
      expect(await signIn("/note/1")).toEqual([200, ["GET /note/1"]]);
      expect(await signIn("/note/1?_method=DELETE")).toEqual([404, []]);
      expect(await signIn("/note/1?to=/note/2")).toEqual([404, []]);
    });
  });
});
