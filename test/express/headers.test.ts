import type { Request, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { onHeaders, openShop, VERSIONS } from "./shop.js";

const MOZILLA = { Accept: "text/html,application/xhtml+xml", "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)" };

describe.each(VERSIONS)("on %s, Cache-Control", (_, express) => {
  const sending = (cacheControl?: string): RequestHandler => {
    return (_req, res) => {
      if (cacheControl !== undefined) res.set("Cache-Control", cacheControl);
      res.send("a");
    };
  };

  test("Cache-Control of a paid response becomes private, and keeps what a private cache may do", async () => {
    let given: string | undefined;
    const shop = await openShop(express, { handler: (req, res, next) => void sending(given)(req, res, next) });
    const expected: readonly (readonly [before: string | undefined, after: string])[] = [
      [undefined, "private"],
      ["public", "private"],
      ["public, max-age=60", "private, max-age=60"],
      ["PUBLIC , S-MaxAge=60, max-age=5", "private, max-age=5"],
      ["no-store", "no-store"],
      ["private, max-age=60", "private, max-age=60"],
      ["immutable", "private, immutable"],
    ];
    for (const [before, after] of expected) {
      given = before;
      expect((await shop.pay()).headers["cache-control"], before ?? "none").toBe(after);
    }
  });

  test.each([
    ["before", (late: RequestHandler) => ({ before: [late] })],
    ["behind", (late: RequestHandler) => ({ behind: [late] })],
  ])(
    "Cache-Control of a paid response stays private when middleware mounted %s us sets it as the head goes out",
    async (_where, mount) => {
      const late = onHeaders((res) => void res.setHeader("Cache-Control", "public, max-age=60"));
      const shop = await openShop(express, { ...mount(late), handler: sending() });
      expect((await shop.pay()).headers["cache-control"]).toBe("private, max-age=60");
    },
  );

  test("Cache-Control of a response that was not charged is private, whatever its handler says", async () => {
    const handler: RequestHandler = (_req, res) => void res.set("Cache-Control", "public").status(404).end();
    const shop = await openShop(express, { handler });
    expect((await shop.pay()).headers["cache-control"]).toBe("private");
  });

  test("Cache-Control of a stored response is private", async () => {
    const shop = await openShop(express, { handler: sending("public, max-age=60") });
    const { header } = await shop.sign();
    shop.facilitator.failNext("unknown");
    expect((await shop.ask({ payment: header })).headers["cache-control"]).toBe("no-store");
    expect((await shop.ask({ payment: header })).headers["cache-control"]).toBe("private, max-age=60");
  });

  test("Cache-Control of a challenge, a page and the response to a malformed payment is no-store", async () => {
    const shop = await openShop(express, {
      before: [(_req, res, next) => next(void res.set("Cache-Control", "public"))],
    });
    for (const options of [{}, { headers: MOZILLA }, { payment: "nonsense" }]) {
      expect((await shop.ask(options)).headers["cache-control"]).toBe("no-store");
    }
  });
});

describe.each(VERSIONS)("on %s, the payment headers can be read by scripts", (_, express) => {
  const NAMES: readonly (readonly [names: string | string[], expected: string])[] = [
    ["X-A", "X-A, PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN"],
    [["X-A", "X-B"], "X-A,X-B, PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN"],
    ["payment-response", "payment-response, PAYMENT-REQUIRED, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN"],
  ];

  test("scripts can read the payment headers beside those that the app exposes", async () => {
    let exposed: string | string[] = [];
    const shop = await openShop(express, {
      before: [(_req, res, next) => next(void res.set("Access-Control-Expose-Headers", exposed))],
      handler: (_req, res) => void res.send("a"),
    });
    const name = "access-control-expose-headers";
    for (const [names, expected] of NAMES) {
      exposed = names;
      expect((await shop.ask()).headers[name]).toBe(expected);
      expect((await shop.ask({ payment: "nonsense" })).headers[name]).toBe(expected);
      expect((await shop.pay()).headers[name]).toBe(expected);
      shop.facilitator.failNext("rejected");
      expect((await shop.pay()).headers[name]).toBe(expected);
      shop.facilitator.failNext("unknown");
      expect((await shop.pay()).headers[name]).toBe(expected);
    }
  });
});

describe.each(VERSIONS)("on %s, a handler behind us", (_, express) => {
  async function requestAsSeen(path: string): Promise<Request> {
    const seen: Request[] = [];
    const spy: RequestHandler = (req, _res, next) => next(void seen.push(req));
    const prying: RequestHandler = (req, _res, next) => next(void req.headersDistinct);
    const handler: RequestHandler = (_req, res) => void res.send("a");
    const shop = await openShop(express, { before: [prying], behind: [spy], handler });
    const { header } = await shop.sign();
    const response = await shop.ask({ path, payment: header, headers: { "X-Other": "kept" } });
    expect(response.status).toBe(200);
    return seen[0] as Request;
  }

  test("a handler sees no payment headers, and all other headers as they were", async () => {
    const { headers, rawHeaders, headersDistinct } = await requestAsSeen("/paid");
    expect(JSON.stringify([headers, rawHeaders, headersDistinct]).toLowerCase()).not.toContain("payment-signature");
    expect(headers["x-other"]).toBe("kept");
    expect(rawHeaders.length % 2).toBe(0);
    expect(rawHeaders[rawHeaders.indexOf("X-Other") + 1]).toBe("kept");
  });

  test.each([true, false])("a handler finds every other header in headersDistinct; read before: %s", async (isRead) => {
    let seen: Request["headersDistinct"] = {};
    let early: Request["headersDistinct"] | undefined;
    const prying: RequestHandler = (req, _res, next) => {
      if (isRead) early = req.headersDistinct;
      next();
    };
    const handler: RequestHandler = (req, res) => {
      seen = req.headersDistinct;
      expect(req.headersDistinct).toBe(seen);
      res.send("a");
    };
    const shop = await openShop(express, { before: [prying], handler });
    const { header } = await shop.sign();
    const others = "X-Twice: 1\r\nx-twice: 2\r\nIf-None-Match: *\r\nHas-Own-Property: 3\r\n";
    const line = await shop.connect(shop.request(header).replace("\r\n", `\r\n${others}`));
    expect(await line.until("\r\n\r\na")).toContain("HTTP/1.1 200");
    const expected = { "x-twice": ["1", "2"], "has-own-property": ["3"] };
    for (const distinct of early === undefined ? [seen] : [seen, early]) {
      expect(distinct).toMatchObject(expected);
      expect(distinct["payment-signature"]).toBeUndefined();
      expect(distinct["if-none-match"]).toBeUndefined();
    }
  });

  test("a client that sends a header named __proto__ can buy, and changes nothing", async () => {
    let seen: unknown;
    const handler: RequestHandler = (req, res) => {
      seen = ["__proto__", "constructor"].map(
        (name) => Object.getOwnPropertyDescriptor(req.headersDistinct, name)?.value,
      );
      res.send("a");
    };
    const shop = await openShop(express, { handler });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header).replace("\r\n", "\r\n__proto__: x\r\nconstructor: y\r\n"));
    expect(await line.until("\r\n\r\na")).toContain("HTTP/1.1 200");
    expect(seen).toEqual([["x"], ["y"]]);
    expect(Reflect.get({}, "0")).toBeUndefined();
  });

  test("a handler sees the payer and the amount in req.payment, which cannot be changed", async () => {
    const { payment } = await requestAsSeen("/paid");
    expect(payment).toEqual({
      payer: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      scheme: "exact",
      network: "eip155:84532",
      asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
      amount: "10000",
      maxAmount: "10000",
      routeTemplate: "/paid",
      pathParams: {},
    });
    expect(Object.isFrozen(payment)).toBe(true);
  });

  test("a handler of a free route sees no req.payment, and all that the client sent", async () => {
    const req = await requestAsSeen("/free");
    expect("payment" in req).toBe(false);
    expect(req.headers).toHaveProperty("payment-signature");
  });

  test("a handler cannot forge a receipt", async () => {
    const handler: RequestHandler = (_req, res) => void res.set("PAYMENT-RESPONSE", "forged").send("a");
    const shop = await openShop(express, { handler });
    expect((await shop.pay()).receipt).toMatchObject({ success: true });
  });
});

describe.each(VERSIONS)("on %s, a browser", (_, express) => {
  test("a browser gets a page with the challenge in its header, and its fetch gets JSON", async () => {
    const shop = await openShop(express);
    const page = await shop.ask({ headers: MOZILLA });
    expect(page).toMatchObject({ status: 402, headers: { "content-type": expect.stringContaining("text/html") } });
    expect(page.challenge?.accepts).toHaveLength(1);
    const fetched = await shop.ask({ headers: { ...MOZILLA, Accept: "*/*" } });
    expect(fetched.json()).toEqual(fetched.challenge);
  });
});
