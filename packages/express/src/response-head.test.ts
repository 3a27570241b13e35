import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import {
  keepPrivate,
  lockHead,
  putHead,
  rehearseHead,
  restoreHead,
  takeHead,
  type WriteHeadArguments,
} from "./response-head.js";

function createResponse(headers: Readonly<Record<string, string | string[]>> = {}): ServerResponse {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  return res;
}

describe("a head", () => {
  test("a head that is taken and put back is the same, also if it was changed in between", () => {
    const res = createResponse({ "X-A": "1", "Set-Cookie": ["a=1", "b=2"] });
    res.statusCode = 201;
    res.statusMessage = "Made";
    const head = takeHead(res);
    res.setHeader("x-a", "2").setHeader("X-Late", "3").removeHeader("Set-Cookie");
    res.statusCode = 500;
    putHead(res, head);
    expect(takeHead(res)).toEqual(head);
    expect(head.headers.map(([name]) => name)).toEqual(["X-A", "Set-Cookie"]);
  });

  test("a taken head does not change when its lists of values change", () => {
    const cookies = ["a=1"];
    const res = createResponse({ "Set-Cookie": cookies });
    const head = takeHead(res);
    cookies.push("b=2");
    res.appendHeader("Set-Cookie", "c=3");
    expect(head.headers).toEqual([["Set-Cookie", ["a=1"]]]);
  });
});

/** The same response, without what only Node knows how to find. */
function withoutSymbols(res: ServerResponse): ServerResponse {
  return new Proxy(res, {
    get: (target, key) => {
      const value: unknown = typeof key === "symbol" ? undefined : Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe.each<[string, (res: ServerResponse) => ServerResponse]>([
  ["a response of Node's", (res) => res],
  ["a response that keeps its headers elsewhere", withoutSymbols],
])("%s", (_whose, seen) => {
  test("has its headers in their case and order, as text", () => {
    const res = createResponse({ "X-B": "1", "x-a": ["2", "3"] });
    res.setHeader("Content-Length", 4);
    expect(takeHead(seen(res)).headers).toEqual([
      ["X-B", "1"],
      ["x-a", ["2", "3"]],
      ["Content-Length", "4"],
    ]);
  });

  test("without a header has none", () => {
    expect(takeHead(seen(createResponse())).headers).toEqual([]);
    const res = createResponse({ "X-A": "1" });
    res.removeHeader("X-A");
    expect(takeHead(seen(res)).headers).toEqual([]);
  });

  test.each<[string, (res: ServerResponse) => unknown]>([
    ["nothing", () => {}],
    ["a value", (res) => res.setHeader("X-A", "2")],
    ["one value of several", (res) => res.setHeader("Set-Cookie", ["a=1", "b=3"])],
    ["a value that is added", (res) => res.appendHeader("Set-Cookie", "c=3")],
    ["the case of a name", (res) => res.setHeader("x-a", "1")],
    ["a header that is added", (res) => res.setHeader("X-Late", "3")],
    ["a header that is removed", (res) => res.removeHeader("X-A")],
    ["a header in place of another", (res) => res.setHeader("X-B", "1").removeHeader("X-A")],
    ["the status", (res) => Object.assign(res, { statusCode: 500 })],
    ["the message", (res) => Object.assign(res, { statusMessage: "Broken" })],
  ])("is as it was when it is restored after a change of %s", (_what, change) => {
    const res = createResponse({ "X-A": "1", "Set-Cookie": ["a=1", "b=2"] });
    res.statusCode = 201;
    const head = takeHead(seen(res));
    change(res);
    restoreHead(seen(res), head);
    expect(takeHead(res)).toEqual(head);
  });
});

describe("a rehearsed writeHead", () => {
  test.each<[string, WriteHeadArguments]>([
    ["a status", [404]],
    ["a message", [200, "Fine"]],
    ["an object", [200, { "x-a": "2", "X-B": ["1", "2"], "X-C": "3" }]],
    ["a message and an object", [200, "Fine", { "X-B": "1" }]],
    ["a list", [200, ["X-A", "2", "X-B", "3"]]],
    ["a message and a list", [200, "Fine", ["X-B", "3"]]],
  ])("a rehearsed writeHead with %s leaves on the response what Node's own would have sent", (_form, args) => {
    const res = createResponse({ "X-A": "1" });
    const real = createResponse({ "X-A": "1" });
    rehearseHead(res, args, false);
    Reflect.apply(real.writeHead, real, args);
    expect(res.getHeaders()).toEqual(real.getHeaders());
    expect(res.statusCode).toBe(real.statusCode);
    expect(["", undefined, real.statusMessage]).toContain(res.statusMessage);
    expect(res.headersSent).toBe(false);
  });

  test("a rehearsed writeHead keeps both values of a name that occurs twice in a list, in order", () => {
    const res = createResponse();
    rehearseHead(res, [200, ["A", "1", "B", "x", "a", "2", "A", ["3", "4"] as never]], false);
    expect(res.getHeaders()).toEqual({ a: ["1", "2", "3", "4"], b: "x" });
  });

  test("a rehearsed writeHead throws when it is the second", () => {
    const res = createResponse();
    rehearseHead(res, [200], false);
    expect(() => rehearseHead(res, [200], true)).toThrow(expect.objectContaining({ code: "ERR_HTTP_HEADERS_SENT" }));
  });

  test("a rehearsed writeHead that has thrown can be called again with other arguments", () => {
    const res = createResponse();
    expect(() => rehearseHead(res, [200, { "X-A": "ł" }], false)).toThrow();
    expect(takeHead(res)).toMatchObject({ status: 200, headers: [] });
    rehearseHead(res, [500, { "X-A": "l" }], false);
    expect(takeHead(res)).toMatchObject({ status: 500, headers: [["X-A", "l"]] });
  });
});

describe("as the head goes out", () => {
  test("keepPrivate allows a stricter Cache-Control, but never a public one", () => {
    const res = createResponse({ "Cache-Control": "public" });
    keepPrivate(res);
    res.setHeader("cache-control", "public, max-age=1").setHeader("X-A", "1");
    expect(res.getHeaders()).toEqual({ "cache-control": "private, max-age=1", "x-a": "1" });
    res.setHeader("Cache-Control", "no-store");
    expect(res.getHeader("cache-control")).toBe("no-store");
  });

  test("a locked head allows changes only of headers about the transfer", () => {
    const res = createResponse({ "X-A": "1", "Content-Length": "3" });
    lockHead(res);
    res
      .setHeader("X-A", "2")
      .setHeader("Set-Cookie", "a")
      .setHeader("Content-Encoding", "gzip")
      .appendHeader("X-A", "3");
    res.removeHeader("X-A");
    res.removeHeader("Content-Length");
    expect(res.getHeaders()).toEqual({ "x-a": "1", "content-encoding": "gzip" });
  });
});
