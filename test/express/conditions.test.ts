/**
 * A client chooses its request's conditions, so they give it nothing: neither a response for nothing, nor a part of one.
 */
import type { PaymentOption, RouteConfig } from "@farebox/express";
import type { Request, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED, VERSIONS } from "./shop.js";

/** Each made Express or `send` respond without a charge. */
const CONDITIONS: readonly Readonly<Record<string, string>>[] = [
  { "If-None-Match": "*" },
  { "If-None-Match": '"other", *' },
  { "If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT" },
  { "If-Match": '"no such tag"' },
  { "If-Unmodified-Since": "Sat, 01 Jan 2000 00:00:00 GMT" },
];

const OPTION = PRICED.accepts as PaymentOption;

const WAYS: readonly (readonly [name: string, route: RouteConfig])[] = [
  ["after", PRICED],
  ["before", { ...PRICED, settle: "before" }],
  ["upto", { ...PRICED, accepts: { ...OPTION, scheme: "upto" } }],
  [
    "metered",
    {
      ...PRICED,
      unmetered: "maximum",
      accepts: { ...OPTION, scheme: "upto", settle: "metered" },
    },
  ],
];

/** What a handler finds of a request's conditions, in each place. */
function conditionsIn({ headers, rawHeaders, headersDistinct }: Request): readonly string[] {
  const names = [...Object.keys(headers), ...rawHeaders, ...Object.keys(headersDistinct)];
  return names.filter((name) => /^if-(?!range)/i.test(name));
}

describe.each(VERSIONS)("on %s", (_, express) => {
  test.each(WAYS)(
    "conditions are removed before the handler runs, and the response is charged, with %s",
    async (_name, route) => {
      const found: (readonly string[])[] = [];
      const handler: RequestHandler = (req, res) => {
        found.push(conditionsIn(req));
        res.set("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT").set("X-Api-Key", "secret").send("goods");
      };
      const shop = await openShop(express, { handler, routes: { "GET /paid": route } });
      for (const [at, headers] of CONDITIONS.entries()) {
        const { status, text } = await shop.pay({ headers });
        expect([status, text], JSON.stringify(headers)).toEqual([200, "goods"]);
        expect(shop.facilitator.settled).toHaveLength(at + 1);
      }
      expect(found).toEqual(CONDITIONS.map(() => []));
    },
  );

  test("a file that the client says it has is sent again, and charged", async () => {
    const handler: RequestHandler = (_req, res) => res.sendFile(import.meta.filename);
    const shop = await openShop(express, { handler });
    const first = await shop.pay();
    const headers = {
      "If-None-Match": String(first.headers["etag"]),
      "If-Modified-Since": String(first.headers["last-modified"]),
    };
    expect(await shop.pay({ headers })).toMatchObject({ status: 200, text: first.text });
    expect(shop.facilitator.settled).toHaveLength(2);
  });

  test("ranges and types stay, and a run that they end without a charge counts as the client's", async () => {
    let runs = 0;
    const handler: RequestHandler = (req, res) => {
      runs += 1;
      res.set("X-Api-Key", "secret").cookie("pass", "secret");
      if (req.headers.range !== undefined) return res.sendFile(import.meta.filename);
      res.format({ json: () => res.json({ goods: true }) });
    };
    const shop = await openShop(express, { handler });
    for (const [headers, unmet, charged] of [
      [{ Range: "bytes=99999999-" }, 416, 1],
      [{ Accept: "image/png" }, 406, 2],
    ] as const) {
      runs = 0;
      const { header } = await shop.sign();
      const statuses: number[] = [];
      for (let sent = 0; sent < 6; sent++) {
        const response = await shop.ask({ payment: header, headers });
        statuses.push(response.status);
        if (response.receipt?.success === true) continue;
        expect(response.headers).not.toHaveProperty("set-cookie");
        expect(response.headers).not.toHaveProperty("x-api-key");
      }
      // The third is charged before it runs, and is owed one more.
      expect([runs, statuses.slice(0, 2), shop.facilitator.settled.length], String(unmet)).toEqual([
        4,
        [unmet, unmet],
        charged,
      ]);
    }
    expect(await shop.pay({ headers: { Range: "bytes=0-4" } })).toMatchObject({ status: 206 });
  });

  test("an uncharged response has nothing of what the handler set but why nothing was sold", async () => {
    const statuses = [200, 302, 304, 401, 404, 405, 406, 412, 416, 429, 500, 503] as const;
    const before: RequestHandler = (_req, res, next) => {
      res.set({ "X-Request-Id": "7", "Access-Control-Allow-Origin": "*", Vary: "Origin" }).cookie("visit", "1");
      next();
    };
    const handler: RequestHandler = (req, res) => {
      res.statusMessage = "secret";
      res.cookie("pass", "secret").set({
        ...{
          "X-Api-Key": "secret",
          "X-Request-Id": "secret",
          Link: "<secret>",
          "Last-Modified": "secret",
          Digest: "secret",
          "Content-Digest": "secret",
          "Content-Location": "/secret",
          "Content-MD5": "secret",
        },
        ...{ Location: "/paid", Allow: "GET", "WWW-Authenticate": "Basic", "Retry-After": "1", ETag: '"v"' },
        ...{ "Cache-Control": "public, max-age=60", "Access-Control-Allow-Credentials": "true" },
      });
      res.vary("Accept").status(Number(req.query["status"])).send("why");
    };
    const shop = await openShop(express, {
      before: [before],
      handler,
      routes: { "GET /paid": { ...PRICED, chargeable: () => false } },
    });
    const seen: Record<number, readonly string[]> = {};
    for (const status of statuses) {
      const response = await shop.pay({ path: `/paid?status=${status}` });
      expect(response.status).toBe(status);
      expect(JSON.stringify(response.headers)).not.toContain("secret");
      expect(response.headers).toMatchObject({ "x-request-id": "7", "access-control-allow-credentials": "true" });
      expect(String(response.headers["vary"]).split(", ").sort()).toEqual(["Accept", "Origin"]);
      expect(response.headers["cache-control"]).toMatch(/^private/);
      seen[status] = ["location", "allow", "www-authenticate", "retry-after", "etag"].filter(
        (name) => name in response.headers,
      );
    }
    expect(seen).toEqual({
      ...{
        200: [],
        302: ["location", "retry-after"],
        304: ["etag"],
        401: ["www-authenticate"],
        404: [],
        405: ["allow"],
      },
      ...{ 406: [], 412: ["etag"], 416: [], 429: ["retry-after"], 500: [], 503: ["retry-after"] },
    });
    expect(shop.facilitator.settled).toEqual([]);
  });

  test("middleware in front that sets a cookie as the head is sent sets none on an uncharged response", async () => {
    const session: RequestHandler = (_req, res, next) => {
      const { writeHead } = res;
      res.writeHead = (...args: unknown[]) => {
        if ("pass" in res.locals) res.setHeader("Set-Cookie", `pass=${res.locals["pass"]}`);
        return Reflect.apply(writeHead, res, args);
      };
      next();
    };
    const handler: RequestHandler = (_req, res) => {
      res.locals["pass"] = "granted";
      res.status(406).send("why");
    };
    const shop = await openShop(express, { before: [session], handler });
    const { status, headers } = await shop.pay();
    expect([status, headers["set-cookie"]]).toEqual([406, undefined]);
  });

  test("with revalidation a client that has the goods gets 304 twice for one payment, and never for *", async () => {
    let runs = 0;
    const handler: RequestHandler = (_req, res) => {
      runs += 1;
      res.set("X-Api-Key", "secret").send("goods");
    };
    const shop = await openShop(express, { handler, routes: { "GET /paid": { ...PRICED, revalidation: true } } });
    const tag = String((await shop.pay()).headers["etag"]);
    const { header } = await shop.sign();
    const known = { "If-None-Match": tag };
    for (let sent = 0; sent < 2; sent++) {
      const response = await shop.ask({ payment: header, headers: known });
      expect(response).toMatchObject({ status: 304, headers: { etag: tag }, receipt: { errorReason: "not_charged" } });
      expect(response.headers).not.toHaveProperty("x-api-key");
    }
    expect(shop.facilitator.settled).toHaveLength(1);
    // The third run is charged first: its 304 is the client's loss.
    await shop.ask({ payment: header, headers: known });
    expect([runs, shop.facilitator.settled.length]).toEqual([4, 2]);
    for (const any of ["*", `${tag}, *`, " *"]) {
      expect(await shop.pay({ headers: { "If-None-Match": any } })).toMatchObject({ status: 200, text: "goods" });
    }
  });

  test("revalidation beside a settlement before the handler is a mistake", async () => {
    const route = { ...PRICED, settle: "before", revalidation: true } as const;
    await expect(openShop(express, { routes: { "GET /paid": route } })).rejects.toThrow(
      /revalidation: expected nothing beside/,
    );
  });

  test("the old header of a payment is removed with the new one", async () => {
    let seen: unknown;
    const handler: RequestHandler = (req, res) => {
      seen = [req.headers["x-payment"], req.rawHeaders.filter((name) => /^x-payment$/i.test(name))];
      res.send("goods");
    };
    const shop = await openShop(express, { handler });
    const { header } = await shop.sign();
    await shop.ask({ payment: header, headers: { "X-PAYMENT": header } });
    expect(seen).toEqual([undefined, []]);
  });
});
