import { request } from "node:http";
import { Socket } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createHeaderSource, isFacilitatorHeaders } from "./http-facilitator.js";

test.each<[headers: unknown, good: boolean, why: string]>([
  [{}, true, "none"],
  [{ authorization: "Bearer x", "x-key": "1" }, true, "by name"],
  [Object.assign(Object.create(null), { authorization: "x" }), true, "an object without a prototype"],
  [{ verify: { authorization: "x" } }, true, "of one call"],
  [{ verify: {}, settle: { a: "1" }, supported: undefined }, true, "by call, some without"],
  [() => ({}), true, "a function"],
  [undefined, false, "nothing"],
  [null, false, "nothing"],
  ["Bearer x", false, "a text"],
  [["authorization", "x"], false, "a list"],
  [{ authorization: undefined }, false, "a key from an environment that does not have it"],
  [{ authorization: 5 }, false, "a number"],
  [{ authorization: "a\nb" }, false, "a line break"],
  [{ authorization: "Bearer x\n" }, true, "a line break at the end, as files have it"],
  [{ "a b": "x" }, false, "no name of a header"],
  [{ "Content-Length": "5" }, false, "a length that is not for the seller to say"],
  [{ verify: { "transfer-encoding": "chunked" } }, false, "a form that is not for the seller to say"],
  [{ verify: "Bearer x" }, false, "a value where headers are expected"],
  [{ verify: { authorization: "x" }, authorization: "y" }, false, "both forms at once"],
  [{ verify: { authorization: 5 } }, false, "a number, of one call"],
  [{ verifyy: { authorization: "x" } }, false, "a mistyped call"],
  [{ verify: {}, bazaar: {} }, false, "a call that is not made"],
  [{ verify: new Headers({ authorization: "x" }) }, false, "credentials that would get lost, of one call"],
  [new Headers({ authorization: "x" }), false, "credentials that would get lost"],
  [new Map([["authorization", "x"]]), false, "credentials that would get lost"],
  [Promise.resolve({ authorization: "x" }), false, "a promise that nobody waited for"],
])("%o is good: %s, %s", (headers, good) => {
  expect(isFacilitatorHeaders(headers)).toBe(good);
});

test("whatever is good can be sent with every call", async () => {
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
