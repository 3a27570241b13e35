/**
 * How keys are written, which keys are refused when the table is made, and which of several keys wins.
 *
 * @module
 */
import { all, type Case, casesOf, get, PAGE, table } from "../case.js";

const ONE = [table(), all("/paid")];
const USERS = { 4: "/u/:id?", 5: "/u{/:id}" };

/** A key that cannot work is refused when the app is made, not on the first request. */
function refused(keys: readonly string[]) {
  return { app: ONE, keys };
}

const REFUSED: readonly Case[] = [
  ...casesOf(refused(["ALL /paid"]), [
    ["verb-all", "GET /paid", "does not start", "ALL is a function of Express, not a method."],
  ]),
  ...casesOf(refused(["* /paid"]), [
    ["verb-star", "GET /paid", "does not start", "Any method is said by leaving the method out."],
  ]),
  ...casesOf(refused(["get /paid"]), [
    ["verb-lower-case", "GET /paid", "does not start", "Methods are upper case in HTTP."],
  ]),
  ...casesOf(refused(["FETCH /paid"]), [["verb-unknown", "GET /paid", "does not start", "No method is called FETCH."]]),
  ...casesOf(refused(["USE /paid"]), [["verb-use", "GET /paid", "does not start", "USE is a function of Express."]]),
  ...casesOf(refused(["PROPFIND /paid"]), [
    ["verb-webdav", "PROPFIND /paid", "does not start", "Keys name the methods of web APIs; the rest goes without."],
  ]),
  ...casesOf(refused(["GET,POST /paid"]), [
    ["verb-list", "GET /paid", "does not start", "A list of methods would match none of them."],
  ]),
  ...casesOf(refused(["GET  /paid"]), [["two-spaces", "GET /paid", "does not start", "Method, one space, path."]]),
  ...casesOf(refused(["GET paid"]), [["no-slash", "GET /paid", "does not start", "A path starts with a slash."]]),
  ...casesOf(refused(["GET https://shop.example/paid"]), [
    ["key-with-host", "GET /paid", "does not start", "A key is a path, not a URL."],
  ]),
  ...casesOf(refused(["GET /paid?a=1"]), [
    ["key-with-query", "GET /paid?a=1", "does not start", "Routes do not look at the query."],
  ]),
  ...casesOf(refused(["GET /paid#top"]), [
    ["key-with-fragment", "GET /paid#top", "does not start", "Routes do not look at the fragment."],
  ]),
  ...casesOf(refused(["GET /paid//"]), [
    ["key-with-two-slashes", "GET /paid//", "does not start", "Express 5 drops both slashes, Express 4 one."],
  ]),
  ...casesOf(refused(["GET /u/:id?"]), [
    ["optional-of-express-4", "GET /u/7", "does not start", "Express 5 writes it /u{/:id}."],
  ]),
  ...casesOf(refused(["GET /:a:b"]), [
    ["parameters-that-touch", "GET /x", "does not start", "It is not known where one ends."],
  ]),
  ...casesOf(refused(["GET /(a|b)"]), [
    ["key-with-regexp", "GET /a", "does not start", "Express 5 takes no expressions in paths."],
  ]),
  ...casesOf(refused(["GET /paid", "GET /PAID/"]), [
    ["same-route-twice", "GET /paid", "does not start", "Two prices for what is one route to Express."],
  ]),
];

const WRITTEN: readonly Case[] = [
  ...casesOf({ app: [table(), get("/u/:id")], keys: ["GET /u/[id]"] }, [
    ["bracket-parameter", "GET /u/7", "priced", "[id] is another way to write :id."],
    ["bracket-parameter-encoded-slash", "GET /u/a%2Fb", "priced", "And takes what :id takes."],
  ]),
  ...casesOf({ app: [table(), get("/i"), get("/id"), get("/u/i")], keys: ["GET /u/[id]"] }, [
    ["bracket-is-no-class", "GET /u/i", "priced", "[id] is a parameter, and i is one."],
    ["bracket-elsewhere", "GET /i", "free", "[id] is not a class of letters."],
  ]),
  ...casesOf({ app: [table(), get({ 4: "/f/*", 5: "/f/*splat" }), get("/f")], keys: ["GET /f/*"] }, [
    ["star-one-segment", "GET /f/a", "priced", "A bare star takes a segment."],
    ["star-many-segments", "GET /f/a/b/c", "priced", "And any number of them at the end."],
    ["star-encoded", "GET /f/a%2Fb", "priced", "And encoded slashes."],
    ["star-dot-segments", "GET /f/a/../b", "priced", "Express hands dot segments to the route as they are."],
    ["star-doubled-slash", "GET /f//a", "priced", "And empty segments."],
    ["star-line-break", "GET /f/a%0Ab", "priced", "And an encoded line break."],
    ["star-prefix", "GET /f", "priced", "The prefix of a bare star at the end counts too."],
    ["star-prefix-slash", "GET /f/", "priced", "With a slash as without."],
    ["star-other-prefix", "GET /fa", "not found", "The prefix ends with a segment."],
  ]),
  ...casesOf({ app: [table(), get("/a/:x/c"), get({ 4: "/a/*", 5: "/a/*rest" })], keys: ["GET /a/*/c"] }, [
    ["star-in-the-middle", "GET /a/b/c", "priced", "A bare star may stand between segments."],
    ["star-in-the-middle-else", "GET /a/b/d", "free", "What follows it counts."],
  ]),
  ...casesOf({ app: [table(), get({ 4: "/*/a", 5: "/*some/a" }), get("/a"), PAGE], keys: ["GET /*/a", "GET /a"] }, [
    ["star-not-empty", "GET /x/a", "priced", "The star's own path.", { by: "GET /*/a" }],
    ["star-empty-other-key", "GET /a", "priced", "The path without it is another key's.", { by: "GET /a" }],
    ["star-empty-slashes", "GET //a", "priced", "A bare star may be empty, whoever gets the path.", { on: [5] }],
  ]),
  ...casesOf({ app: [table(), get({ 4: "/*", 5: "/{*all}" })], keys: ["GET /*"] }, [
    ["star-alone", "GET /any/thing", "priced", "A bare star alone is for everything."],
    ["star-alone-root", "GET /", "priced", "The root too."],
    ["star-alone-doubled-slash", "GET //any", "priced", "And what starts with two slashes."],
  ]),
  ...casesOf({ app: [table(), get({ 4: "/f/*", 5: "/f/*splat" })], keys: ["GET /f/*splat"] }, [
    ["splat-one-segment", "GET /f/a", "priced", "A wildcard as Express 5 writes it."],
    ["splat-many-segments", "GET /f/a/b/c", "priced", "It takes any number of segments."],
    ["splat-only-slashes", "GET /f//", "priced", "Empty ones too."],
    ["splat-dot-segments", "GET /f/../f/a", "priced", "The route gets dot segments as they are."],
    ["splat-empty-on-5", "GET /f/", "not found", "Express 5's wildcard is never empty.", { on: [5] }],
    ["splat-empty-on-4", "GET /f/", "priced", "Express 4's may be, and its route answers.", { on: [4] }],
  ]),
  ...casesOf({ app: [table(), get({ 4: "/o/:id?", 5: "/o{/:id}" })], keys: ["GET /o{/:id}"] }, [
    ["optional-absent", "GET /o", "priced", "An optional part left out."],
    ["optional-absent-slash", "GET /o/", "priced", "With a slash."],
    ["optional-given", "GET /o/7", "priced", "An optional part given."],
    ["optional-given-slash", "GET /o/7/", "priced", "With a slash."],
    ["optional-too-long", "GET /o/7/8", "not found", "It is one segment."],
  ]),
  ...casesOf({ app: [table(), get("/a\\:b"), get("/aXb")], keys: ["GET /a\\:b"] }, [
    ["escaped-colon", "GET /a:b", "priced", "A backslash in a key makes the next character plain."],
    ["escaped-colon-else", "GET /aXb", "free", "It is no parameter."],
  ]),
  ...casesOf({ app: [table(), get("/v1.0/x"), get("/v1X0/x")], keys: ["GET /v1.0/x"] }, [
    ["dot-is-a-dot", "GET /v1.0/x", "priced", "A dot in a key."],
    ["dot-is-no-wildcard", "GET /v1X0/x", "free", "It stands for itself only."],
  ]),
  ...casesOf({ app: [table(), get("/caf%C3%A9"), get("/caf:rest")], keys: ["GET /caf%C3%A9"] }, [
    ["encoded-key", "GET /caf%C3%A9", "priced", "Escapes in a key and in a route are plain text."],
    ["encoded-key-lower-case", "GET /caf%c3%a9", "priced", "Routes do not tell case, in escapes neither."],
    ["encoded-key-raw-bytes", "GET /caf\xc3\xa9", "refused", "Node refuses raw bytes in a target."],
  ]),
  ...casesOf({ app: [table(), get("/paid")], keys: ["GET /paid/"] }, [
    ["key-with-slash", "GET /paid", "priced", "A key for /paid/ is a key for /paid."],
    ["key-with-slash-itself", "GET /paid/", "priced", "And for itself."],
  ]),
  ...casesOf({ app: [table(), get("//paid"), get("/paid")], keys: ["GET //paid"] }, [
    ["key-with-leading-slashes", "GET //paid", "priced", "Slashes in a key stay as they are."],
    ["key-with-leading-slashes-else", "GET /paid", "free", "One is not two."],
  ]),
  ...casesOf({ app: [table(), get("/paid")], keys: ["GET /PAID"] }, [
    ["key-in-capitals", "GET /paid", "priced", "A key does not tell case, as a route does not."],
  ]),
  ...casesOf({ app: [table(), get("/")], keys: ["GET /"] }, [
    ["root", "GET /", "priced", "The root is a path like another."],
    ["root-query", "GET /?a=1", "priced", "With a query."],
    ["root-absolute-form", "GET http://shop.example", "priced", "An absolute target without a path is the root."],
    ["root-two-slashes", "GET //", "priced", "Express 5 serves it through the route for the root.", { on: [5] }],
  ]),
  ...casesOf({ app: [table(), get("/f/:a-:b")], keys: ["GET /f/:a-:b"] }, [
    ["two-parameters", "GET /f/paris-rome", "priced", "Two parameters in one segment."],
    ["two-parameters-many-hyphens", "GET /f/a-b-c-d", "priced", "The split may be anywhere."],
    ["two-parameters-slash", "GET /f/a%2Fb-c", "priced", "An encoded slash is part of a parameter."],
  ]),
];

const EITHER_ORDER = [table(), get("/u/me"), get(USERS), get({ 4: "/*", 5: "/*all" })];

const PRECEDENCE: readonly Case[] = [
  ...casesOf({ app: EITHER_ORDER, keys: ["GET /u/:id", "GET /u/me"] }, [
    ["specific-last", "GET /u/me", "priced", "Plain text wins over a parameter, written last.", { by: "GET /u/me" }],
    ["specific-last-else", "GET /u/7", "priced", "The parameter has the rest.", { by: "GET /u/:id" }],
  ]),
  ...casesOf({ app: EITHER_ORDER, keys: ["GET /u/me", "GET /u/:id"] }, [
    ["specific-first", "GET /u/me", "priced", "Plain text wins over a parameter, written first.", { by: "GET /u/me" }],
    ["specific-first-else", "GET /u/7", "priced", "The parameter has the rest.", { by: "GET /u/:id" }],
  ]),
  ...casesOf({ app: EITHER_ORDER, keys: ["GET /*all", "GET /u/:id"], referenceKeys: ["GET /*", "GET /u/:id"] }, [
    ["wildcard-first", "GET /u/7", "priced", "A parameter wins over a wildcard.", { by: "GET /u/:id" }],
    ["wildcard-first-else", "GET /x/y", "priced", "The wildcard has the rest.", { by: "GET /*all" }],
  ]),
  ...casesOf({ app: EITHER_ORDER, keys: ["GET /*", "GET /u/me"] }, [
    ["star-first", "GET /u/me", "priced", "Plain text wins over a bare star.", { by: "GET /u/me" }],
  ]),
  ...casesOf({ app: EITHER_ORDER, keys: ["/u/me", "GET /u/me"] }, [
    ["any-method-first", "GET /u/me", "priced", "A named method wins over any.", { by: "GET /u/me" }],
    ["any-method-first-else", "HEAD /u/me", "priced", "HEAD goes with GET.", { by: "GET /u/me" }],
  ]),
  ...casesOf({ app: EITHER_ORDER, keys: ["GET /u{/:id}", "GET /u/:id"] }, [
    ["optional-first", "GET /u/7", "priced", "Without an optional part is closer than with.", { by: "GET /u/:id" }],
  ]),
];

export const KEY_CASES: readonly Case[] = [...WRITTEN, ...PRECEDENCE, ...REFUSED];
