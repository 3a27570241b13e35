import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { RESPONSE_FORMS } from "./response-forms.js";
import { NEWEST, openShop, VERSIONS } from "./shop.js";

/** Headers about the payment, the time or the transfer. A held response has its whole length; a live one may not. */
const OURS = ["payment-response", "cache-control", "access-control-expose-headers", "date", "transfer-encoding"];

/** Forms that Express has no part in. */
const ONLY_NODE = /^(end|writes?|writeHead|flushHeaders|a pipe|HEAD of writes|trailers)\b/;

describe.each(VERSIONS)("on %s", (_, express) => {
  const forms = RESPONSE_FORMS.filter(
    ({ how }) => NEWEST.some(([, newest]) => newest === express) || !ONLY_NODE.test(how),
  );

  test("a paid response is the handler's own in each form", async () => {
    const handler: RequestHandler = (req, res, next) => forms[Number(req.query["form"])]?.handler(req, res, next);
    const plain = await openShop(express, { build: (app) => app.all("/paid", handler) });
    const shop = await openShop(express, { handler });
    for (const [at, { how, method = "GET", headers = {} }] of forms.entries()) {
      const request = { path: `/paid?form=${at}`, method, headers };
      const expected = await plain.ask(request);
      const paid = await shop.pay(request);

      const { status, body } = expected;
      expect(paid, how).toMatchObject({ status, body, receipt: { success: true } });
      expect(paid.trailers, how).toEqual(expected.trailers);
      const theirs = Object.entries(expected.headers).filter(([name]) => !OURS.includes(name));
      expect(paid.headers, how).toMatchObject(Object.fromEntries(theirs));
      expect(paid.headers["cache-control"], how).toMatch(/^private/);
    }
  });
});

describe.each(NEWEST)("on %s, a paid response is the handler's own", (_, express) => {
  test("a paid response keeps the handler's reason phrase", async () => {
    const shop = await openShop(express, { handler: (_req, res) => void res.writeHead(200, "Quite Fine").end() });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    expect(await line.until("\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 Quite Fine\r\n/);
  });

  test("a paid response keeps a header that stands twice in a list", async () => {
    const list = ["Set-Cookie", "a=1", "X-A", "x", "Set-Cookie", "b=2"];
    const shop = await openShop(express, { handler: (_req, res) => void res.writeHead(200, list).end() });
    expect((await shop.pay()).headers).toMatchObject({ "set-cookie": ["a=1", "b=2"], "x-a": "x" });
  });

  test("header names of a paid response keep the case they were written in", async () => {
    const shop = await openShop(express, { handler: (_req, res) => void res.set("X-oDD-case", "1").end() });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    expect(await line.until("\r\n\r\n")).toContain("X-oDD-case: 1");
  });

  test("a paid response has the bytes of each write, also if the handler reuses its buffer", async () => {
    const shop = await openShop(express, {
      handler: (_req, res) => {
        const reused = Buffer.from("one,");
        res.write(reused);
        reused.write("two,");
        res.write(reused);
        reused.write("end.");
        res.end(reused);
        reused.fill("x");
      },
    });
    expect((await shop.pay()).text).toBe("one,two,end.");
  });
});
