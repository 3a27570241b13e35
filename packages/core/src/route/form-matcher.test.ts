import fc from "fast-check";
import { pathToRegexp, TokenData } from "path-to-regexp";
import { describe, expect, test } from "vitest";
import { compileMatcher, type FlatToken, type Values } from "./form-matcher.js";
import { SEED } from "./route.fixture.js";

const SETTINGS = [
  { isLoose: false, sensitive: true, trailing: false },
  { isLoose: true, sensitive: false, trailing: true },
] as const;

/** Texts that overlap with each other and with themselves, and letters whose case is special. */
const TEXTS = ["/", "/", "/", "/x/", "/x", "x/", "-", "a-", "/a/a/", "aa", "/X-", ".", "ß", "ſ", "İ", "\ud801\udc28"];

const texts = fc.constantFrom(...TEXTS).map((value): FlatToken => ({ type: "text", value }));
const values = fc.constantFrom<FlatToken>({ type: "param", name: "p" }, { type: "wildcard", name: "w" });

/** Forms of up to five parameters and wildcards, with text between any two. */
const forms = fc
  .array(fc.tuple(texts, fc.option(texts, { nil: undefined }), values), { minLength: 1, maxLength: 5 })
  .chain((parts) => fc.option(texts, { nil: undefined }).map((last) => [...parts.flat(), last]))
  .map((tokens): FlatToken[] => [{ type: "text", value: "/" }, ...tokens.filter((token) => token !== undefined)]);

const pieces = fc.constantFrom(
  ...TEXTS,
  "a",
  "A",
  "x",
  "X",
  "b",
  "S",
  "s",
  "SS",
  "i",
  "\ud801\udc00",
  "\ud801",
  "\n",
  "%2F",
);
const pathnames = fc.array(pieces, { maxLength: 14 }).map((some) => `/${some.join("")}`);

/** A path that a form may well match: its texts, with something between them. */
function pathsLike(tokens: readonly FlatToken[]): fc.Arbitrary<string> {
  const between = fc.array(pieces, { minLength: 1, maxLength: 3 }).map((some) => some.join(""));
  const parts = tokens.map((token) => (token.type === "text" ? fc.constant(token.value) : between));
  return fc.tuple(...parts).map((some) => some.join(""));
}

function valuesByExpression(tokens: readonly FlatToken[], path: string, options: object): Values | undefined {
  const found = pathToRegexp(new TokenData([...tokens]), options).regexp.exec(path);
  return found === null ? undefined : found.slice(1);
}

describe(`a matcher (seed ${SEED})`, () => {
  test("finds the values that Express 5's expression finds, in any form and path", () => {
    let hits = 0;
    const drawn = forms.chain((tokens) => fc.tuple(fc.constant(tokens), fc.oneof(pathnames, pathsLike(tokens))));
    const check = fc.property(drawn, fc.constantFrom(...SETTINGS), ([tokens, path], { isLoose, ...options }) => {
      const expected = valuesByExpression(tokens, path, options);
      expect(compileMatcher(tokens, { isLoose })(path)).toEqual(expected);
      if (expected !== undefined) hits += 1;
    });
    fc.assert(check, { seed: SEED, numRuns: 2_000 });
    expect(hits).toBeGreaterThan(400);
  });

  test("gives stars what Express 4's expression gives them, and lacks no slash that a path has", () => {
    let hits = 0;
    const star: FlatToken = { type: "wildcard", name: "s", isStar: true };
    const words = fc.array(fc.constantFrom("/a/", "/b/", "/a/b/"), { minLength: 1, maxLength: 4 });
    const paths = fc.array(fc.constantFrom("/", "a", "b", "c"), { maxLength: 14 }).map((some) => `/a/${some.join("")}`);
    const check = fc.property(words, paths, (some, path) => {
      const matched = compileMatcher(
        some.flatMap((value): FlatToken[] => [{ type: "text", value }, star]),
        {
          isLoose: false,
        },
      )(path);
      const expected = new RegExp(`^${some.map((word) => `${word}(.*)`).join("")}$`).exec(path)?.slice(1);
      if (expected !== undefined) expect(matched).toEqual(expected);
      const lacking = new RegExp(`^${some.map((word) => `${word.slice(0, -1)}(?:/.*)?`).join("")}$`);
      expect(matched !== undefined).toBe(lacking.test(path));
      if (expected !== undefined) hits += 1;
    });
    fc.assert(check, { seed: SEED, numRuns: 2_000 });
    expect(hits).toBeGreaterThan(100);
  });
});
