/**
 * docs/reference/payment-object.md has exactly the fields and methods of `req.payment`.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { membersOf } from "./declarations.js";

const DOCUMENT = readFileSync(new URL("../../docs/reference/payment-object.md", import.meta.url), "utf8");

test("the page of req.payment has its fields and methods, in the order of the code", () => {
  const [, table = ""] = /\| field \| type \| meaning \|\n(.*?)\n\n/s.exec(DOCUMENT) ?? [];
  const rows = [...table.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name);
  expect(rows).toEqual(membersOf("Payment").map(({ name }) => name));
});
