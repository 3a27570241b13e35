/**
 * Other spellings of a path, sent to plain routes: what Express serves is priced, what it does not serve is not.
 *
 * @module
 */
import { type Case, casesOf, files, get, rewrite, router, table, VAIN } from "../case.js";

const APP = [table(), get("/paid"), get("/u/:id")];
const KEYS = ["GET /paid", "GET /u/:id"];

const SPELLINGS: readonly Case[] = casesOf({ app: APP, keys: KEYS }, [
  ["slash", "GET /paid/", "priced", "Express does not mind a trailing slash."],
  ["slashes", "GET /paid//", "not found", "It minds two."],
  ["leading-slashes", "GET //paid", "not found", "It does not merge slashes."],
  ["capitals", "GET /PAID", "priced", "It does not tell case."],
  ["capitals-slash", "GET /Paid/", "priced", "Both at once."],
  ["query", "GET /paid?a=1", "priced", "The query is not part of the path."],
  ["query-empty", "GET /paid?", "priced", "An empty query neither."],
  ["query-with-path", "GET /paid?/../free", "priced", "With any query."],
  ["query-two-marks", "GET /paid??a", "priced", "It starts at the first question mark."],
  ["fragment", "GET /paid#x", "priced", "Clients do not send fragments; Express cuts them off."],
  ["fragment-before-query", "GET /paid#x?y", "priced", "Together with what follows."],
  ["fragment-slash", "GET /paid/#/x", "priced", "Behind a trailing slash too."],
  ["encoded-question-mark", "GET /paid%3Fa", "not found", "An encoded question mark is part of the path."],
  ["encoded-hash", "GET /paid%23a", "not found", "So is an encoded hash."],
  ["matrix", "GET /paid;a=1", "not found", "So are matrix parameters."],
  ["encoded-letter", "GET /p%61id", "not found", "Express does not decode before it looks for a route."],
  ["encoded-letter-twice", "GET /p%2561id", "not found", "Nor twice."],
  ["encoded-slash", "GET /%2Fpaid", "not found", "An encoded slash is not a slash."],
  ["encoded-trailing-slash", "GET /paid%2F", "not found", "At the end neither."],
  ["encoded-space", "GET /paid%20", "not found", "A space is a character."],
  ["encoded-nul", "GET /paid%00", "not found", "So is NUL."],
  ["encoded-line-break", "GET /paid%0A", "not found", "So is a line break."],
  ["broken-escape", "GET /paid%", "not found", "A percent sign alone is a character."],
  ["fullwidth-slash", "GET /%EF%BC%8Fpaid", "not found", "A slash of another script is a character."],
  ["long-s", "GET /pa%C5%BFid", "not found", "A letter that folds to s is another letter."],
  ["dot-segments", "GET /x/../paid", "not found", "Express does not resolve dot segments."],
  ["dot-segment", "GET /./paid", "not found", "A single dot neither."],
  ["encoded-dot-segments", "GET /x/%2e%2e/paid", "not found", "Encoded ones neither."],
  ["half-encoded-dot-segments", "GET /x/%2e./paid", "not found", "Half of them encoded neither."],
  ["encoded-parent", "GET /x/..%2fpaid", "not found", "With an encoded slash neither."],
  ["encoded-parent-backslash", "GET /x/..%5cpaid", "not found", "With an encoded backslash neither."],
  ["twice-encoded-dot-segments", "GET /x/%252e%252e/paid", "not found", "Encoded twice neither."],
  ["backslash", "GET \\paid", "refused", "A target starts with a slash; Node refuses this one."],
  ["backslash-inside", "GET /x\\..\\paid", "not found", "A backslash is a character."],
  ["backslash-leading", "GET /\\paid", "not found", "At the start too."],
  ["backslash-before-fragment", "GET \\paid#x", "refused", "A target starts with a slash."],
  ["encoded-backslash", "GET /%5Cpaid", "not found", "Encoded too."],
  ["host-as-path", "GET //shop.example/paid", "not found", "Two slashes do not make a host."],
  ["absolute-form", "GET http://elsewhere.example/paid", "priced", "Express takes the path of an absolute target."],
  ["absolute-form-capitals", "GET HTTP://ELSEWHERE.EXAMPLE/PAID", "priced", "In capitals too."],
  ["absolute-form-https", "GET https://user:pass@elsewhere.example:8443/paid?a#b", "priced", "With all its parts."],
  ["absolute-form-slashes", "GET http://elsewhere.example//paid", "not found", "Its path is not merged either."],
  ["absolute-form-dots", "GET http://elsewhere.example/x/../paid", "not found", "Nor resolved."],
  ["absolute-form-backslash", "GET http://elsewhere.example\\paid", "refused", "Node knows no host of that form."],
  ["absolute-form-encoded", "GET http://elsewhere.example/p%61id", "not found", "Nor decoded."],
  ["asterisk-form", "OPTIONS *", "not found", "An asterisk is no path."],
  ["param", "GET /u/7", "priced", "A parameter."],
  ["param-encoded-slash", "GET /u/a%2Fb", "priced", "An encoded slash is part of a parameter."],
  ["param-encoded-backslash", "GET /u/a%5Cb", "priced", "So is an encoded backslash."],
  ["param-backslash", "GET /u/a\\b", "priced", "So is a backslash."],
  ["param-encoded-dots", "GET /u/%2e%2e", "priced", "So are encoded dots."],
  ["param-dots", "GET /u/..", "priced", "So are dots."],
  [
    "param-broken-escape",
    "GET /u/%zz",
    "priced",
    "So is a broken escape; the route fails on it once it is paid.",
    VAIN,
  ],
  ["param-broken-utf-8", "GET /u/%ff", "priced", "So is what is no UTF-8.", VAIN],
  ["param-matrix", "GET /u/7;a=1", "priced", "So are matrix parameters."],
  ["param-raw-bytes", "GET /u/\xc3\xa9", "refused", "Raw bytes are not; Node refuses them in a target."],
  ["param-line-break", "GET /u/a%0Ab", "priced", "So is an encoded line break."],
  ["param-line-separator", "GET /u/%E2%80%A8", "priced", "So is a line separator."],
  ["param-missing", "GET /u/", "not found", "A parameter is not empty."],
  ["param-slashes", "GET /u//", "not found", "Nor a slash."],
  ["param-dot-segments", "GET /u/x/../7", "not found", "Nor two segments."],
]);

const OTHER_ROUTES: readonly Case[] = [
  ...casesOf({ app: [table(), get("/paid"), get("/:page"), get("/x/:up/paid")], keys: ["GET /paid"] }, [
    ["encoded-letter-other-route", "GET /p%61id", "free", "Another route serves it, and gets it as it is."],
    ["encoded-slash-other-route", "GET /%2Fpaid", "free", "Another route serves it."],
    ["matrix-other-route", "GET /paid;a=1", "free", "Another route serves it."],
    ["dot-segments-other-route", "GET /x/../paid", "free", "Another route serves it: to Express, dots are a segment."],
    ["encoded-dots-other-route", "GET /x/%2e%2e/paid", "free", "Encoded too."],
    ["plain-route-before-other", "GET /paid", "priced", "The priced route stays priced."],
  ]),
  ...casesOf({ app: [table(), get("/paid"), files("/assets")], keys: ["GET /paid"] }, [
    ["dot-segments-beside-files", "GET /x/../paid", "not found", "Files under another mount never get it."],
  ]),
];

const SENSITIVE: readonly Case[] = [
  ...casesOf({ app: APP, keys: KEYS, settings: ["case sensitive routing"] }, [
    ["case-sensitive-same", "GET /paid", "priced", "The path as the route has it."],
    ["case-sensitive-capitals", "GET /PAID", "not found", "To such an app it is another path."],
    ["case-sensitive-slash", "GET /paid/", "priced", "A trailing slash is another matter."],
  ]),
  ...casesOf(
    { app: [table(), get("/paid"), get("/PAID")], keys: ["GET /paid"], settings: ["case sensitive routing"] },
    [["case-sensitive-two-routes", "GET /PAID", "free", "Two routes that differ in case are two routes."]],
  ),
  ...casesOf({ app: [table(), router("/", get("/paid"))], keys: ["GET /paid"], settings: ["case sensitive routing"] }, [
    ["case-sensitive-app-loose-router", "GET /PAID", "priced", "A router has its own settings, and serves it."],
  ]),
  ...casesOf(
    {
      app: [table("/api"), get("/api/report"), get("/:one/:two")],
      keys: ["GET /report"],
      settings: ["case sensitive routing"],
    },
    [
      ["case-sensitive-mount-same", "GET /api/report", "priced", "The path as the route has it."],
      ["case-sensitive-mount-page", "GET /API/report", "free", "To such an app it is another mount: a page gets it."],
      ["case-sensitive-below-mount-page", "GET /api/REPORT", "free", "The same below the mount."],
    ],
  ),
  ...casesOf({ app: APP, keys: KEYS, settings: ["strict routing"] }, [
    ["strict-same", "GET /paid", "priced", "The path as the route has it."],
    ["strict-slash", "GET /paid/", "not found", "To such an app it is another path."],
    ["strict-slashes", "GET /paid//", "not found", "As without."],
    ["strict-leading-slashes", "GET //paid", "not found", "As without."],
    ["strict-capitals", "GET /PAID", "priced", "Case is another matter."],
  ]),
  ...casesOf({ app: [table(), get("/paid"), get("/paid/")], keys: ["GET /paid"], settings: ["strict routing"] }, [
    ["strict-two-routes", "GET /paid/", "free", "Two routes that differ in the slash are two routes."],
  ]),
  ...casesOf({ app: [table(), router("/", get("/paid"))], keys: ["GET /paid"], settings: ["strict routing"] }, [
    ["strict-app-loose-router", "GET /paid/", "priced", "A router has its own settings, and serves it."],
  ]),
  ...casesOf({ app: APP, keys: KEYS, settings: ["case sensitive routing", "strict routing"] }, [
    ["both-settings-same", "GET /paid", "priced", "The path as the route has it."],
    ["both-settings-capitals", "GET /PAID", "not found", "Another path."],
    ["both-settings-slash", "GET /paid/", "not found", "Another path."],
  ]),
];

const DEEPER: readonly Case[] = casesOf({ app: [table(), get("/api/report")], keys: ["GET /api/report"] }, [
  ["backslash-fragment", "GET /api\\report#x", "priced", "Before a fragment, Express reads a backslash as a slash."],
  ["backslash-fragment-head", "HEAD /api\\report#", "priced", "For HEAD too, and before an empty one."],
  ["backslash-query", "GET /api\\report?x", "not found", "Before a query it does not."],
  ["backslash-query-fragment", "GET /api\\report?x#y", "priced", "Before both it does."],
]);

const REWRITTEN: readonly Case[] = [
  ...casesOf({ app: [rewrite("/old", "/paid"), table(), get("/paid")], keys: ["GET /paid"] }, [
    ["rewritten-to-priced", "GET /old", "priced", "What Express will look for counts, not what was sent."],
    ["rewritten-to-priced-slash", "GET /old/?a=1", "priced", "With what follows."],
    ["rewritten-head", "HEAD /old", "priced", "For HEAD too."],
  ]),
  ...casesOf({ app: [rewrite("/paid", "/free"), table(), get("/paid"), get("/free")], keys: ["GET /paid"] }, [
    ["rewritten-to-free", "GET /paid", "free", "The free route serves it."],
  ]),
  ...casesOf({ app: [rewrite("//", "/"), rewrite("/p%61", "/pa"), table(), get("/paid")], keys: ["GET /paid"] }, [
    ["slashes-merged-before", "GET //paid", "priced", "Merged by earlier middleware, it is the priced path."],
    ["decoded-before", "GET /p%61id", "priced", "Decoded by earlier middleware, it is the priced path."],
  ]),
  ...casesOf({ app: [rewrite("/v1", ""), table(), router("/api", get("/m"))], keys: ["GET /api/m"] }, [
    ["prefix-removed-before", "GET /v1/api/m", "priced", "A prefix that earlier middleware removed."],
    ["prefix-removed-else", "GET /v1/api/n", "not found", "What then has no route."],
  ]),
];

const LONG: readonly Case[] = casesOf({ app: [table(), get("/f/:a-:b-:c")], keys: ["GET /f/:a-:b-:c"] }, [
  ["three-parameters", "GET /f/a-b-c", "priced", "Three parameters in one segment."],
  [
    "long-path",
    `GET /f/${"-".repeat(4091)}/x`,
    "not found",
    "4 KB of hyphens take no time to turn down.",
    { timed: true },
  ],
  ["long-path-letters", `GET /f/${"a-".repeat(2045)}/x`, "not found", "Nor do letters and hyphens.", { timed: true }],
  ["long-parameter", `GET /f/${"a".repeat(4000)}-b-c`, "priced", "Nor does one long parameter.", { timed: true }],
]);

export const PATH_CASES: readonly Case[] = [
  ...SPELLINGS,
  ...DEEPER,
  ...OTHER_ROUTES,
  ...SENSITIVE,
  ...REWRITTEN,
  ...LONG,
];
