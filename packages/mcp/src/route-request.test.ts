import { expect, test } from "vitest";
import { parseCalledRoute, writeRequest } from "./route-request.js";

test.each<[string, unknown, string, string?]>([
  ["GET /", {}, "/"],
  ["GET /a", { b: 1, c: [1, "x y"], d: true }, "/a?b=1&c=1&c=x+y&d=true"],
  ["GET /a", undefined, "/a"],
  ["GET /:a/b/:c_d", { a: "/..", c_d: "é?", e: { f: 1 } }, "/%2F../b/%C3%A9%3F?e=%7B%22f%22%3A1%7D"],
  ["DELETE /:a", { a: 0 }, "/0"],
  ["POST /:a", { a: "x", b: { c: 1 } }, "/x", '{"b":{"c":1}}'],
  ["PUT /", {}, "/", "{}"],
])("%s is written with the arguments %o", (key, args, path, body) => {
  expect(writeRequest(parseCalledRoute(key)!, args)).toEqual({ ok: true, path, body });
});

test.each([undefined, null, "", ".", ".."])("%o cannot be written into a path", (a) => {
  expect(writeRequest(parseCalledRoute("GET /:a")!, { a })).toEqual({ ok: false, argument: "a" });
});

test.each(["/weather", "GET weather", "OPTIONS /a", "GET /a/*b", "GET /{a}", "GET /a?b=1", "GET /:1", "GET /(a)", 5])(
  "parseCalledRoute refuses %o",
  (key) => {
    expect(parseCalledRoute(key)).toBeUndefined();
  },
);
