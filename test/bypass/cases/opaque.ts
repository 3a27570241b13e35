/**
 * Functions that read a path by themselves, and what stands behind them: a request is a key's if any reading of its path is.
 *
 * @module
 */
import {
  ANSWERS,
  all,
  type Case,
  casesOf,
  files,
  get,
  type Must,
  NOT_FOUND,
  PAGE,
  PASSES,
  proxy,
  type Row,
  rewrite,
  route,
  router,
  type Step,
  table,
  use,
  VAIN,
  wrapped,
} from "../case.js";

const KEYS = ["GET /api/report"];

/** Ways to write the path of the key that somebody reads as that. */
const READINGS: Readonly<Record<string, string>> = {
  plain: "/api/report",
  query: "/api/report?a=/../b",
  fragment: "/api/report#a",
  "absolute-form": "http://elsewhere.example/api/report",
  "absolute-form-authority": "http://elsewhere.example//x/api/report",
  capitals: "/API/Report",
  slash: "/api/report/",
  slashes: "/api//report",
  "leading-slashes": "//api/report",
  "trailing-slashes": "/api/report//",
  letter: "/api/%72eport",
  "letter-in-front": "/%61pi/report",
  "letter-twice": "/api/%2572eport",
  "letter-capitals": "/API/%52EPORT",
  "encoded-slash": "/api%2freport",
  "encoded-slash-in-front": "/%2Fapi/report",
  "dot-segments": "/x/../api/report",
  "dot-segments-inside": "/api/x/../report",
  "dot-segments-encoded": "/x/%2e%2e/api/report",
  "dot-segments-half-encoded": "/x/.%2E/api/report",
  "dot-segments-twice-encoded": "/x/%252e%252e/api/report",
  "dot-segments-slash": "/x/..%2fapi/report",
  "dot-segments-above": "/../api/report",
  dot: "/./api/report",
  "dot-inside": "/api/./report",
  "dot-behind": "/api/report/.",
  "dots-behind": "/api/report/x/..",
  "dots-empty": "/api//../report",
  "dots-empty-encoded": "/api/%2f/%2e%2e/%2e%2e/report",
  "dots-empty-backslash": "/api/\\../report",
  "dots-empty-inside": "/api/x//../../report",
  backslash: "/api\\report",
  "backslash-encoded": "/api%5creport",
  "backslash-dots": "/x\\..\\api\\report",
  "backslash-dots-encoded": "/x/..%5Capi/report",
  authority: "//x/api/report",
  "authority-user": "//a@b/api/report",
  "authority-port": "//x:1/api/report",
  "authority-backslash": "/\\x/api/report",
  "authority-backslashes": "/\\\\x/api/report",
  "authority-three-slashes": "///x/api/report",
  "authority-letter": "//x/api/%72eport",
  "authority-dots": "//x/y/../api/report",
  parameters: "/api/report;x=1",
  "parameters-inside": "/api;v=1/report",
  "parameters-dots": "/a/..;/api/report",
  "parameters-letter": "/api/%72eport;x=1",
  "parameters-encoded": "/api/report%3Bx=1",
  nul: "/api/report%00",
};

/** Paths of which no reading is the key's. */
const OTHERS: Readonly<Record<string, string>> = {
  longer: "/api/reports",
  shorter: "/api/repor",
  below: "/api/report/more",
  "encoded-below": "/api/report%2fmore",
  above: "/api",
  root: "/",
  elsewhere: "/report",
  "another-mount": "/x/api/report",
  "encoded-longer": "/api/%72eports",
  "dots-away": "/api/../report",
  "authority-away": "//x/public",
  "broken-escape": "/api/%zz",
};

function readings(name: string, must: Must = "priced"): readonly Row[] {
  return Object.entries(READINGS).map(([how, path]) => [
    `${name}-${how}`,
    `GET ${path}`,
    must,
    `Somebody reads it so.`,
  ]);
}

function others(name: string): readonly Row[] {
  return Object.entries(OTHERS).map(([how, path]) => [
    `${name}-free-${how}`,
    `GET ${path}`,
    "free",
    "No key names it.",
  ]);
}

/** One request of each sort. */
function layout(name: string, steps: readonly Step[], more: readonly Row[] = []): readonly Case[] {
  return casesOf({ app: [table(), ...steps], keys: KEYS }, [
    [`${name}-plain`, "GET /api/report", "priced", "The key's own request."],
    [`${name}-letter`, "GET /api/%72eport", "priced", "What stands behind does not matter."],
    [`${name}-letter-post`, "POST /api/%72eport", "priced", "By any method."],
    [`${name}-dots`, "GET /api/x/%2e%2e/report", "priced", "Dot segments."],
    [`${name}-parameters`, "GET /api/report;x=1", "priced", "Path parameters."],
    [`${name}-delete`, "DELETE /api/report", "priced", "By any method."],
    [`${name}-else`, "GET /api/public", "free", "What no key names stays free."],
    ...more,
  ]);
}

const NO_ROUTE = (name: string): Row => [
  `${name}-options`,
  "OPTIONS /api/report",
  "preflight",
  "Without a route of its own, OPTIONS runs nothing.",
];

const OWN_ROUTE = (name: string): Row => [
  `${name}-options`,
  "OPTIONS /api/report",
  "free",
  "The key has a route of its own: what else is there answers OPTIONS.",
];

/** What may stand behind an opaque function, or in front. */
const BEHIND: Readonly<Record<string, readonly Step[]>> = {
  "not-found": [NOT_FOUND],
  page: [get("/:page"), get("/api/:page")],
  "any-page": [all({ regexp: ".*" })],
  "not-found-router": [router("/", PAGE, NOT_FOUND)],
  "passing-and-not-found": [use("/", PASSES), NOT_FOUND],
};

const PROXIES: Readonly<Record<string, Step>> = {
  proxy: proxy("/"),
  handler: use("/", { does: "answers", takesNext: true }),
  expression: all({ regexp: ".*" }),
  mount: proxy("/api"),
  "mounted-router": router("/api", proxy("/")),
};

const LAYOUTS: readonly Case[] = Object.entries(PROXIES).flatMap(([name, step]) =>
  Object.entries(BEHIND).flatMap(([behind, steps]) => {
    const title = `${name}-before-${behind}`;
    return casesOf({ app: [table(), step, ...steps], keys: KEYS }, [
      [`${title}-letter`, "GET /api/%72eport", "priced", "What stands behind does not matter."],
      [`${title}-post`, "POST /api/report", "priced", "By any method."],
      [`${title}-else`, "GET /api/public", "free", "What no key names stays free."],
      NO_ROUTE(title),
    ]);
  }),
);

/** The key's own route beside an opaque function. */
const OWN: readonly Case[] = [
  ...layout("own-before-proxy", [get("/api/report"), proxy("/"), NOT_FOUND], [OWN_ROUTE("own-before-proxy")]),
  ...layout("own-behind-proxy", [proxy("/"), get("/api/report"), NOT_FOUND], [OWN_ROUTE("own-behind-proxy")]),
  ...layout("own-in-router", [router("/api", get("/report"), proxy("/")), NOT_FOUND], [OWN_ROUTE("own-in-router")]),
  ...layout(
    "own-and-post",
    [get("/api/report"), route(["post"], "/api/report"), proxy("/")],
    [["own-and-post-post", "POST /api/report", "free", "The app has a free route for it."]],
  ),
  ...layout(
    "post-behind-proxy",
    [proxy("/"), route(["post"], "/api/report")],
    [["post-behind-proxy-post", "POST /api/report", "free", "The app has a free route for it, wherever."]],
  ),
  ...layout(
    "wide-post-behind-proxy",
    [proxy("/"), route(["post"], "/api/:page")],
    [["wide-post-behind-proxy-post", "POST /api/report", "priced", "Written wider than the key."]],
  ),
  ...layout(
    "all-behind-proxy",
    [proxy("/"), all("/api/:page")],
    [["all-behind-proxy-put", "PUT /api/report", "priced", "By no method's name."]],
  ),
];

/** Middleware that only passes is a function like another. */
const PASSING: readonly Case[] = casesOf(
  { app: [table(), use("/", PASSES), get("/api/report"), route(["put"], "/api/report"), NOT_FOUND], keys: KEYS },
  [
    ["passing-plain", "GET /api/report", "priced", "The key's own request."],
    ["passing-letter", "GET /api/%72eport", "priced", "The table does not know what it does.", VAIN],
    ["passing-post", "POST /api/report", "priced", "By any method.", VAIN],
    ["passing-put", "PUT /api/report", "free", "The app has a free route for it."],
    ["passing-options", "OPTIONS /api/report", "not found", "OPTIONS passes, to the end of the app."],
    ["passing-else", "GET /api/public", "not found", "Nothing is there."],
  ],
);

/** CORS middleware answers OPTIONS. */
const CORS: readonly Case[] = [
  ...casesOf({ app: [table(), use("/", { does: "cors" }), all("/api/report")], keys: KEYS }, [
    ["cors-behind-table", "OPTIONS /api/report", "preflight", "CORS middleware behind the table."],
    ["cors-behind-table-post", "POST /api/report", "priced", "The handler has its price."],
  ]),
  ...casesOf({ app: [use("/", { does: "cors" }), table(), all("/api/report")], keys: KEYS }, [
    ["cors-before-table", "OPTIONS /api/report", "preflight", "Or in front."],
  ]),
];

/** A key without a route, and the route of a wider key. */
const NARROWER: readonly Case[] = [
  ...casesOf({ app: [table(), proxy("/paid/x"), get("/paid/:a/:b")], keys: ["/paid/x/secret", "/paid/:a/:b"] }, [
    [
      "narrower-param-options",
      "OPTIONS /paid/x/secret",
      "preflight",
      "Its path goes to a route that is another key's.",
    ],
    ["narrower-param-other", "OPTIONS /paid/x/other", "free", "The other key has a route that is written like it."],
  ]),
  ...casesOf({ app: [table(), get({ 4: "/*", 5: "/*all" }), proxy("/paid")], keys: ["/*all", "/paid/secret"] }, [
    ["narrower-options", "OPTIONS /paid/secret", "preflight", "The wider key's route is no reason to run the other's."],
    ["narrower-options-other", "OPTIONS /paid/other", "free", "Here the wider key's route alone has a price."],
    ["narrower-post", "POST /paid/secret", "priced", "By any other method."],
  ]),
];

/** Express parses some URLs into a text of another length, and cuts mounts off the one that came. */
const CUT: readonly Case[] = [
  ...casesOf({ app: [table(), get("/paid/:p/paid"), use("/paid/:p"), NOT_FOUND], keys: ["/paid/:p"] }, [
    ["cut-absolute", "GET http://x/paid/it's/x/paid", "refused", "The mount would see the free route's path."],
    ["cut-fragment", 'GET /paid/S-t"/x/paid#', "refused", "A fragment is parsed, too."],
    ["cut-slashes", "GET /paid/a'//paid#", "refused", "Both slashes are cut off, and one is added."],
    ["cut-user", "GET //a@b/paid/x/y#", "refused", "A host that the parser sees, and Express does not."],
    ["cut-nothing-left", "GET http://x/paid/it's", "priced", "Behind the mount was nothing."],
    ["cut-right", "GET http://x/paid/its/x", "priced", "Nothing is escaped."],
    ["cut-right-sign", "GET http://x/paid/a%20b/", "priced", "Nor by Express: the client has escaped it."],
    ["cut-right-fragment", "GET /paid/its/x#paid", "priced", "Nor here."],
    ["cut-not-parsed", "GET /paid/it's/x/paid", "priced", "Without a host it is no other text."],
    ["cut-escaped", "GET /paid/it%27s/paid", "free", "The client has escaped it: the free route."],
  ]),
  ...casesOf({ app: [router("/:tenant", table(), proxy("/"))], keys: ["GET /report"] }, [
    ["cut-tenant", "GET http://x/it's/xx/report", "refused", "The table is below the mount."],
    ["cut-tenant-right", "GET http://x/its/report", "priced", "Nothing is escaped."],
    ["cut-tenant-escaped", "GET /J%20D/report", "priced", "The client has escaped it."],
    ["cut-tenant-else", "GET /J%20D/other", "free", "What no key names stays free."],
  ]),
  ...casesOf({ app: [table(), proxy("/free/a%20b"), get("/secret")], keys: ["/secret"] }, [
    ["cut-free-end", "GET http://x/free/a%20b/", "free", "The mount takes the slash at the end away."],
    ["cut-free-slashes", "GET http://x/free/a%20b//y", "free", "Or one of two."],
  ]),
  ...casesOf({ app: [table(), get("/:p/secret"), router("/:p", get("/else")), proxy("/")], keys: ["/:p/secret"] }, [
    ["cut-left", 'GET /a"/x/secret#', "refused", "A wrong cut is left in the URL, also behind the mount."],
    ["cut-left-right", "GET /a/x/secret#", "free", "Nothing is escaped."],
  ]),
  ...casesOf(
    {
      app: [
        ...[rewrite("/v9", ""), rewrite("/go", "/paid/a /x"), table()],
        ...[route(["post"], "/paid/:p/paid", PASSES), use("/paid/:p"), NOT_FOUND],
      ],
      keys: ["GET /paid/:p"],
    },
    [
      ["cut-rewritten", "POST /go/paid", "priced", "A space that middleware made is escaped."],
      ["cut-rewritten-right", "POST /v9/paid/a%20b/paid", "free", "The app has a free route for it."],
      ["cut-sent-right", "POST /paid/a%20b/paid", "free", "The same without middleware."],
    ],
  ),
];

const TOP: readonly Case[] = casesOf({ app: [table(), proxy("/"), NOT_FOUND], keys: KEYS }, [
  ...readings("top"),
  ...others("top"),
  ["top-post", "POST /api/report", "priced", "By any method."],
  ["top-propfind", "PROPFIND /api/%72eport", "priced", "Also one that no key can name."],
]);

/** The other server reads what is left behind the mount. */
const MOUNT: readonly Case[] = casesOf({ app: [table(), proxy("/api"), NOT_FOUND], keys: KEYS }, [
  ["below-letter", "GET /api/%72eport", "priced", "Decoded."],
  ["below-dots", "GET /api/x/..;/report", "priced", "With dot segments and path parameters."],
  ["below-authority", "GET /api//x/report", "priced", "With an authority.", { on: [5] }],
  ["below-authority-on-4", "GET /api///x/report", "priced", "Express 4 swallows a slash at a mount.", { on: [4] }],
  ["below-authority-backslash", "GET /api/\\x/report", "priced", "With backslashes."],
  ["below-authority-user", "GET /api/\\\\a@b/report", "priced", "With a user."],
  ["below-mount-again", "GET /api/x/../../api/report", "priced", "From the top."],
  ["below-capitals", "GET /API/REPORT", "priced", "In capitals."],
  ["below-else", "GET /api/x/report", "free", "What no key names stays free."],
  ["below-authority-else", "GET /api//x/reports", "free", "What no key names stays free."],
  ["below-out", "GET /apix/report", "not found", "Not below the mount."],
]);

const RELATIVE: readonly Case[] = [
  ...casesOf({ app: [table("/api"), proxy("/api"), NOT_FOUND], keys: ["GET /report"] }, [
    ["relative-plain", "GET /api/report", "priced", "A key relative to the mount of its table."],
    ["relative-letter", "GET /api/%72eport", "priced", "Decoded."],
    ["relative-post", "POST /api/x/../report", "priced", "By any method."],
    ["relative-authority", "GET /api/\\x/report", "priced", "With an authority."],
    ["relative-else", "GET /api/reports", "free", "What no key names stays free."],
  ]),
  ...casesOf({ app: [router("/api", table(), proxy("/"), NOT_FOUND)], keys: ["GET /report"] }, [
    ["relative-inside", "GET /api/%72eport", "priced", "In a router."],
    ["relative-inside-put", "PUT /api/report", "priced", "By any method."],
  ]),
  ...casesOf({ app: [table(), router(["/v1", "/v2"], proxy("/"), NOT_FOUND)], keys: ["GET /v1/report"] }, [
    ["two-mounts-key", "GET /v1/%72eport", "priced", "The mount of the key."],
    ["two-mounts-other", "GET /v2/report", "priced", "The other mount leads to the same function."],
    ["two-mounts-other-letter", "POST /v2/%72eport", "priced", "By any method, decoded."],
    ["two-mounts-other-authority", "GET /v2/\\x/report", "priced", "With an authority."],
    ["two-mounts-other-else", "GET /v2/reports", "free", "What no key names stays free."],
  ]),
];

/** A mount that is written like the key. */
const OWN_MOUNT: readonly Case[] = casesOf({ app: [table(), use("/report"), NOT_FOUND], keys: ["GET /report"] }, [
  ["own-mount-get", "GET /report", "priced", "The key's own request."],
  ["own-mount-post", "POST /report/", "priced", "By any method."],
  ["own-mount-below", "DELETE /Report/more/%2e%2e/x", "priced", "Everything below it."],
  ["own-mount-options", "OPTIONS /report", "preflight", "OPTIONS runs no handler."],
  ["own-mount-else", "GET /reports", "not found", "Not below it."],
]);

/** Functions that call a router. */
const CALLERS: readonly Case[] = [
  ...casesOf({ app: [table(), wrapped("/", all("/report")), NOT_FOUND], keys: ["GET /report"] }, [
    ["caller-get", "GET /report", "priced", "A route that is not in sight."],
    ["caller-post", "POST /report", "priced", "By any method."],
    ["caller-capitals", "PUT /Report/", "priced", "In each spelling."],
    ["caller-letter", "GET /rep%6Frt", "priced", "In any reading.", VAIN],
    ["caller-options", "OPTIONS /report", "preflight", "OPTIONS runs no handler."],
    ["caller-else", "GET /other", "not found", "What no key names is not asked for money."],
  ]),
  ...casesOf({ app: [table(), wrapped("/api", all("/report", PASSES, ANSWERS)), PAGE], keys: KEYS }, [
    ["mounted-caller-post", "POST /api/report", "priced", "By any method, below a mount."],
    ["mounted-caller-options", "OPTIONS /api/report", "preflight", "OPTIONS runs no handler."],
    ["mounted-caller-else", "GET /api/other", "free", "What no key names stays free."],
  ]),
];

const FIRST: readonly Case[] = casesOf({ app: [use("/report"), table(), NOT_FOUND], keys: ["GET /report"] }, [
  ["mount-before-table", "GET /report", "priced", "A mount before the table, for a key that has no other place."],
  ["mount-before-table-post", "POST /report", "priced", "By any method."],
]);

/** File systems that do not tell case. The one of this test may. */
const FOLDED: readonly Case[] = [
  ...casesOf({ app: [table(), files("/files", "files")], keys: ["GET /files/secret.txt"] }, [
    ["folded-file", "GET /files/secret.txt", "priced", "One file below a mount."],
    ["folded-file-capitals", "GET /files/SECRET.TXT", "priced", "In capitals.", VAIN],
    ["folded-mount-capitals", "GET /FILES/Secret.TXT", "priced", "With its mount.", VAIN],
    ["folded-head", "HEAD /Files/SECRET.txt", "priced", "By HEAD.", VAIN],
    ["folded-letter", "GET /files/%53ecret.txt", "priced", "Decoded.", VAIN],
    ["folded-other", "GET /files/deep/secret.txt", "free", "Another file."],
  ]),
  ...casesOf({ app: [table(), files("/"), NOT_FOUND], keys: ["GET /files/secret.txt"] }, [
    ["folded-top", "GET /FILES/Secret.TXT", "priced", "At the top of the app.", VAIN],
    ["folded-top-dots", "HEAD /x/../FILES/Secret.TXT", "priced", "With dot segments.", VAIN],
    ["folded-top-other", "GET /public.txt", "free", "Another file."],
  ]),
  ...casesOf({ app: [table(), files("/"), NOT_FOUND], keys: ["GET /files"] }, [
    ["folder-index-file", "GET /files/index.html", "priced", "The index file of a folder."],
    ["folder-index-folded", "GET /FILES/Index.HTML", "priced", "In capitals.", VAIN],
    ["folder-index-by-slash", "GET /files/", "priced", "By the folder."],
    ["folder-index-options", "OPTIONS /files/index.html", "preflight", "A file server answers no preflight for it."],
  ]),
];

export const OPAQUE_CASES: readonly Case[] = [
  ...[...TOP, ...MOUNT, ...RELATIVE, ...OWN_MOUNT],
  ...[...LAYOUTS, ...OWN, ...PASSING, ...CORS, ...NARROWER, ...CUT, ...CALLERS, ...FIRST, ...FOLDED],
];
