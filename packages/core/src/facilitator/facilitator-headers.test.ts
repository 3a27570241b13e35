import { request } from "node:http";
import { Socket } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createHeaderSource, isFacilitatorHeaders } from "./http-facilitator.js";

test.each<[headers: unknown, good: boolean, why: string]>([
  [{}, true, "empty"],
  [{ authorization: "Bearer x", "x-key": "1" }, true, "by name"],
  [Object.assign(Object.create(null), { authorization: "x" }), true, "an object without a prototype"],
  [{ verify: { authorization: "x" } }, true, "for one call"],
  [{ verify: {}, settle: { a: "1" }, supported: undefined }, true, "by call, some without"],
  [() => ({}), true, "a function"],
  [undefined, false, "nothing"],
  [null, false, "nothing"],
  ["Bearer x", false, "a string"],
  [["authorization", "x"], false, "a list"],
  [{ authorization: undefined }, false, "a key from an environment that does not have it"],
  [{ authorization: 5 }, false, "a number"],
  [{ authorization: "a\nb" }, false, "a line break"],
  [{ authorization: "Bearer x\n" }, true, "a line break at the end, as in files"],
  [{ "a b": "x" }, false, "not a header name"],
  [{ "Content-Length": "5" }, false, "a length that only the client may set"],
  [{ verify: { "transfer-encoding": "chunked" } }, false, "an encoding that only the client may set"],
  [{ verify: "Bearer x" }, false, "a value where headers are expected"],
  [{ verify: { authorization: "x" }, authorization: "y" }, false, "both forms at once"],
  [{ verify: { authorization: 5 } }, false, "a number, for one call"],
  [{ verifyy: { authorization: "x" } }, false, "a mistyped call"],
  [{ verify: {}, bazaar: {} }, false, "an unknown call"],
  [
    { verify: new Headers({ authorization: "x" }) },
    false,
    "a Headers object for one call, which would lose the credentials",
  ],
  [new Headers({ authorization: "x" }), false, "an object that would lose the credentials"],
  [new Map([["authorization", "x"]]), false, "an object that would lose the credentials"],
  [Promise.resolve({ authorization: "x" }), false, "a promise"],
])("isFacilitatorHeaders(%o) returns %s: %s", (headers, good) => {
  expect(isFacilitatorHeaders(headers)).toBe(good);
});

test("headers that pass the check can be sent with every call", async () => {
  await fc.assert(
    fc.asyncProperty(fc.anything({ maxDepth: 2 }), async (given) => {
      if (!isFacilitatorHeaders(given) || typeof given === "function") return;
      for (const operation of ["verify", "settle", "supported"] as const) {
        const headers = await createHeaderSource(given)(operation);
        expect(() => new Headers(headers)).not.toThrow();
        const sent = request("http://127.0.0.1:1", { headers, createConnection: () => new Socket() });
        sent.on("error", () => {}).destroy();
      }
    }),
  );
});
