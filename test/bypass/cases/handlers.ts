/**
 * What the functions of a priced route look like, and by which ways it is reached: neither matters.
 *
 * @module
 */
import {
  ANSWERS,
  all,
  type Case,
  call,
  casesOf,
  chain,
  get,
  override,
  PASSES,
  type Row,
  route,
  router,
  table,
  use,
  VAIN,
  type Work,
} from "../case.js";

const WITH_NEXT: Work = { does: "answers", takesNext: true };

/** The functions of one route. */
const FORMS: Readonly<Record<string, readonly Work[]>> = {
  plain: [ANSWERS],
  next: [WITH_NEXT],
  auth: [{ does: "passes", name: "requireAuth" }, PASSES, WITH_NEXT],
  async: [{ does: "answers", takesNext: true, isAsync: true }, { does: "errors" }],
};

/** Names of Express's own middleware, and of popular packages. */
const NAMES = ["query", "jsonParser", "serveStatic", "mounted_app"];

const named = (name: string): Work => ({ does: "answers", takesNext: true, name });

function rowsOf(form: string, rows: readonly Row[]): readonly Row[] {
  return rows.map(([name, ...rest]) => [`${form}-${name}`, ...rest]);
}

const READ: readonly Row[] = [
  ["get", "GET /report", "priced", "The key's own request."],
  ["head", "HEAD /report", "priced", "HEAD goes with GET."],
  ["post", "POST /report", "priced", "The route takes every method, and has one price."],
  ["delete", "DELETE /report", "priced", "By any method."],
  ["propfind", "PROPFIND /report", "priced", "Also one that no key can name."],
  ["post-spelled", "POST /Report/?a=1", "priced", "In each spelling that Express takes."],
  ["options", "OPTIONS /report", "preflight", "OPTIONS runs no handler."],
];

const WRITE: readonly Row[] = [
  ["query-get", "GET /graphql?query={a}", "priced", "The same handler answers GET."],
  ["query-head", "HEAD /graphql?query={a}", "priced", "And HEAD."],
  ["query-options", "OPTIONS /graphql", "preflight", "OPTIONS runs no handler."],
];

const ANY: readonly Row[] = [
  ["any-trace", "TRACE /report", "priced", "Also for those that no key can name."],
  ["any-options", "OPTIONS /report", "preflight", "But not for OPTIONS."],
];

const ALIAS: readonly Row[] = [
  ["alias-get", "GET /r", "priced", "The other path of the route."],
  ["alias-post", "POST /r", "priced", "By any method."],
  ["alias-spelled", "DELETE /R/", "priced", "In each spelling."],
  ["alias-options", "OPTIONS /r", "preflight", "OPTIONS runs no handler."],
];

const TWICE: readonly Row[] = [
  ["twice-get", "GET /v2/report", "priced", "The other mount of the router."],
  ["twice-post", "POST /v2/report", "priced", "By any method."],
  ["twice-options", "OPTIONS /v2/report", "preflight", "OPTIONS runs no handler."],
];

const FREE_BESIDE: readonly Row[] = [
  ["beside-post", "POST /report", "free", "The app has a free route for it."],
  ["beside-put", "PUT /report", "priced", "It has none for PUT."],
  ["beside-options", "OPTIONS /report", "preflight", "Nor for OPTIONS."],
];

const OF_FORMS: readonly Case[] = Object.entries(FORMS).flatMap(([form, functions]) => [
  ...casesOf({ app: [table(), all("/report", ...functions)], keys: ["GET /report"] }, rowsOf(form, READ)),
  ...casesOf({ app: [table(), all("/graphql", ...functions)], keys: ["POST /graphql"] }, rowsOf(form, WRITE)),
  ...casesOf({ app: [table(), all("/report", ...functions)], keys: ["/report"] }, rowsOf(form, ANY)),
  ...casesOf({ app: [table(), all(["/report", "/r"], ...functions)], keys: ["GET /report"] }, rowsOf(form, ALIAS)),
  ...casesOf(
    { app: [table(), router(["/v1", "/v2"], all("/report", ...functions))], keys: ["GET /v1/report"] },
    rowsOf(form, TWICE),
  ),
  ...casesOf(
    { app: [table(), all("/report", ...functions), route(["post"], "/report")], keys: ["GET /report"] },
    rowsOf(form, FREE_BESIDE),
  ),
]);

const OF_NAMES: readonly Case[] = NAMES.flatMap((name) => [
  ...casesOf({ app: [table(), all("/report", named(name))], keys: ["GET /report"] }, [
    [`named-${name}-get`, "GET /report", "priced", "The key's own request."],
    [`named-${name}-post`, "POST /report", "priced", "A name says nothing about a function."],
    [`named-${name}-options`, "OPTIONS /report", "preflight", "OPTIONS runs no handler."],
  ]),
  ...casesOf({ app: [table(), use("/", named(name)), get("/report")], keys: ["GET /report"] }, [
    [`named-${name}-in-front-post`, "POST /report", "priced", "In front of a route neither."],
    [`named-${name}-in-front-encoded`, "GET /rep%6Frt", "priced", "It may read the path of the key."],
    [`named-${name}-in-front-else`, "GET /public", "free", "What no key names stays free."],
  ]),
]);

/** Calls of one route. */
const CHAINS: readonly Case[] = [
  ...casesOf({ app: [table(), chain(["/x", "/y"], call("all", PASSES), call("get"))], keys: ["GET /x"] }, [
    ["chain-key", "GET /x", "priced", "The path of the key."],
    ["chain-alias", "GET /y", "priced", "The other path of the route."],
    ["chain-alias-head", "HEAD /y", "priced", "By HEAD too."],
    ["chain-alias-post", "POST /y", "priced", "All functions of a route are one thing.", VAIN],
    ["chain-options", "OPTIONS /y", "preflight", "OPTIONS runs none of them."],
  ]),
  ...casesOf({ app: [table(), chain("/a", call("get"), call("post"))], keys: ["GET /a"] }, [
    ["chain-two-get", "GET /a", "priced", "The key's own request."],
    ["chain-two-post", "POST /a", "priced", "A function of the same route."],
    ["chain-two-put", "PUT /a", "not found", "The route has none for PUT."],
    ["chain-two-options", "OPTIONS /a", "allowed", "Express answers OPTIONS by itself."],
  ]),
  ...casesOf({ app: [table(), chain("/a", call("get"), call("post"))], keys: ["POST /a"] }, [
    ["chain-other-get", "GET /a", "priced", "A function of the same route."],
    ["chain-other-head", "HEAD /a", "priced", "Which answers HEAD too."],
  ]),
  ...casesOf({ app: [table(), chain("/a", call("get"), call("options"))], keys: ["GET /a"] }, [
    ["chain-own-options", "OPTIONS /a", "free", "The route answers OPTIONS by a function of its own."],
  ]),
  ...casesOf({ app: [table(), chain("/a", call("options"), call("all"))], keys: ["GET /a"] }, [
    ["chain-own-options-and-all", "OPTIONS /a", "preflight", "It has one for all methods too."],
  ]),
  ...casesOf({ app: [table(), chain("/a", call("all", PASSES), call("all", WITH_NEXT))], keys: ["OPTIONS /a"] }, [
    ["chain-key-for-options", "OPTIONS /a", "priced", "A key names OPTIONS."],
    ["chain-key-for-options-get", "GET /a", "priced", "The route has that price by any method."],
  ]),
  ...casesOf({ app: [table(), all("/a", PASSES, WITH_NEXT)], keys: ["GET /a", "POST /a"] }, [
    ["two-keys-get", "GET /a", "priced", "The key that names it.", { by: "GET /a" }],
    ["two-keys-head", "HEAD /a", "priced", "HEAD goes with GET.", { by: "GET /a" }],
    ["two-keys-post", "POST /a", "priced", "The key that names it.", { by: "POST /a" }],
    ["two-keys-put", "PUT /a", "denied", "None names it, and their prices differ."],
    ["two-keys-options", "OPTIONS /a", "preflight", "OPTIONS runs no handler."],
  ]),
  ...casesOf({ app: [table(), all(["/a", "/b", "/c"], WITH_NEXT)], keys: ["/a", "/b"] }, [
    ["two-paths-a", "PUT /a", "priced", "The key that names it.", { by: "/a" }],
    ["two-paths-b", "GET /b", "priced", "The key that names it.", { by: "/b" }],
    ["two-paths-c", "GET /c", "denied", "None names it, and their prices differ."],
  ]),
];

/** Ways to a handler besides the path of its key. */
const WAYS: readonly Case[] = [
  ...casesOf({ app: [table(), get(["/report", "/r"], PASSES, WITH_NEXT)], keys: ["GET /report"] }, [
    ["get-alias", "GET /r", "priced", "The other path of the route."],
    ["get-alias-head", "HEAD /r", "priced", "By HEAD too."],
    ["get-alias-post", "POST /r", "not found", "The route has none for POST."],
    ["get-alias-options", "OPTIONS /r", "allowed", "Express answers OPTIONS by itself."],
  ]),
  ...casesOf({ app: [table(), get({ 4: "/o/:a?/:b?", 5: "/o{/:a}{/:b}" })], keys: ["GET /o/:a"] }, [
    ["optional-parts-key", "GET /o/1", "priced", "As the key has them."],
    ["optional-parts-none", "GET /o", "priced", "The route is one thing: without any."],
    ["optional-parts-all", "GET /o/1/2", "priced", "With all of them."],
  ]),
  ...casesOf({ app: [table("/v1"), router(["/v1", "/v2"], all("/report", WITH_NEXT))], keys: ["GET /report"] }, [
    ["mounted-table-key", "GET /v1/report", "priced", "The mount of the table."],
    ["mounted-table-other", "GET /v2/report", "priced", "The other mount of the router."],
    ["mounted-table-other-post", "POST /v2/report", "priced", "By any method."],
  ]),
  ...casesOf({ app: [router(["/v1", "/v2"], table(), all("/report", WITH_NEXT))], keys: ["GET /v1/report"] }, [
    ["inner-table-key", "GET /v1/report", "priced", "The mount that the key names."],
    ["inner-table-other", "GET /v2/report", "priced", "The other mount of the router."],
    ["inner-table-other-post", "POST /v2/report", "priced", "By any method."],
  ]),
  ...casesOf({ app: [table(), override, all("/report", PASSES, WITH_NEXT)], keys: ["GET /report"] }, [
    ["override-to-delete", "GET /report?_method=DELETE", "priced", "The table saw GET."],
    ["override-to-get", "DELETE /report?_method=GET", "priced", "The handler has a price, by any method."],
    ["override-to-put", "POST /report?_method=PUT", "priced", "Also by two that no key names."],
  ]),
  ...casesOf({ app: [table(), all({ regexp: "^/rep" }, WITH_NEXT)], keys: ["GET /report"] }, [
    ["regexp-key", "GET /report", "priced", "An expression that takes the path of the key."],
    ["regexp-post", "POST /report", "priced", "By any method."],
    ["regexp-other", "GET /repository", "priced", "The handler has a price, by any path."],
    ["regexp-options", "OPTIONS /repository", "preflight", "OPTIONS runs no handler."],
  ]),
];

/** Other routes for the same path. */
const BESIDE: readonly Case[] = [
  ...casesOf({ app: [table(), route(["post"], "/report"), all("/report", WITH_NEXT)], keys: ["GET /report"] }, [
    ["free-route-first", "POST /report", "free", "A free route for the method, in front."],
    ["free-route-first-put", "PUT /report", "priced", "There is none for PUT."],
  ]),
  ...casesOf({ app: [table(), all("/report"), route(["post"], "/:page")], keys: ["GET /report"] }, [
    ["wide-route-behind", "POST /report", "priced", "A page route is wider than the key."],
    ["wide-route-behind-else", "POST /other", "free", "What no key names stays free."],
  ]),
  ...casesOf({ app: [table(), all("/report"), route(["post"], { regexp: "^/report$" })], keys: ["GET /report"] }, [
    ["expression-behind", "POST /report", "priced", "So is an expression."],
  ]),
  ...casesOf({ app: [table(), all("/report"), all("/report", PASSES)], keys: ["POST /report"] }, [
    ["all-behind", "GET /report", "priced", "A route for every method is the key's, not free."],
  ]),
  ...casesOf({ app: [table(), all("/report"), route(["post"], ["/report", "/x"])], keys: ["GET /report"] }, [
    ["free-array-behind", "POST /report", "free", "Written like the key, and for the method."],
    ["free-array-behind-other", "POST /x", "free", "No key names it."],
  ]),
  ...casesOf(
    { app: [table(), router("/api", all("/report")), route(["post"], "/api/report")], keys: ["GET /api/report"] },
    [
      ["free-elsewhere", "POST /api/report", "free", "Written like the key, outside of its router."],
      ["free-elsewhere-delete", "DELETE /api/report", "priced", "There is none for DELETE."],
    ],
  ),
];

/** Pages for many paths, of which a key names one. */
const PAGES: readonly Case[] = [
  ...casesOf({ app: [table(), all("/:page", PASSES, WITH_NEXT)], keys: ["GET /report"] }, [
    ["one-page", "GET /report", "priced", "The route that Express gives a key's path is the key's."],
    ["one-page-post", "POST /report", "priced", "By any method."],
    ["one-page-letter", "GET /rep%6Frt", "priced", "In any reading."],
    ["one-page-else", "GET /other", "priced", "By any of its paths."],
    ["one-page-options", "OPTIONS /report", "preflight", "OPTIONS runs no handler."],
  ]),
  ...casesOf({ app: [table(), router("/:tenant", all("/report"))], keys: ["GET /acme/report"] }, [
    ["one-tenant", "GET /acme/report", "priced", "A key for one value of a mount."],
    ["one-tenant-post", "POST /ACME/report", "priced", "By any method."],
  ]),
];

/** HEAD goes through a route for GET. */
const FREE_HEAD: readonly Case[] = casesOf(
  { app: [table(), all("/report", WITH_NEXT), get("/report")], keys: ["POST /report"] },
  [
    ["free-get-behind", "GET /report", "free", "The app has a free route for it."],
    ["free-head-behind", "HEAD /report", "free", "And for HEAD."],
    ["free-get-behind-put", "PUT /report", "priced", "It has none for PUT."],
    ["free-get-behind-post", "POST /report", "priced", "The key's own request."],
  ],
);

const EVERYTHING_BELOW = { 4: "/api/*", 5: "/api/*rest" };

/** Wider routes, which lie on the way of a key that has a route of its own. */
const ON_THE_WAY: readonly Case[] = [
  ...casesOf({ app: [table(), all(EVERYTHING_BELOW, PASSES), get("/api/report")], keys: ["GET /api/report"] }, [
    ["auth-on-the-way", "GET /api/report", "priced", "The key's own request."],
    ["auth-on-the-way-post", "POST /api/report", "not found", "No route is for POST."],
    ["auth-on-the-way-else", "GET /api/other", "not found", "Nothing is there."],
    ["auth-on-the-way-options", "OPTIONS /api/report", "allowed", "Express answers OPTIONS by itself."],
  ]),
  ...casesOf({ app: [table(), all(EVERYTHING_BELOW), get("/api/report")], keys: ["GET /api/report"] }, [
    ["page-on-the-way", "GET /api/report", "priced", "A request that names the key, also there."],
    ["page-on-the-way-head", "HEAD /API/Report/", "priced", "In the spellings of the key's own route."],
    ["page-on-the-way-post", "POST /api/report", "free", "No other."],
    ["page-on-the-way-encoded", "GET /api/rep%6Frt", "free", "Express decodes no paths."],
    ["page-on-the-way-dots", "GET /api/x/../report", "free", "Nor resolves them."],
    ["page-on-the-way-options", "OPTIONS /api/report", "free", "OPTIONS is its own matter."],
  ]),
  ...casesOf({ app: [table(), get("/api/report"), all(EVERYTHING_BELOW)], keys: ["GET /api/report"] }, [
    ["page-behind", "GET /api/report", "priced", "The key's own request."],
    ["page-behind-post", "POST /api/report", "free", "What the key does not name goes to the page."],
    ["page-behind-encoded", "GET /api/rep%6Frt", "free", "As does another path."],
  ]),
  ...casesOf({ app: [table(), all(EVERYTHING_BELOW)], keys: ["GET /api/report"] }, [
    ["page-alone", "GET /api/report", "priced", "Without a route of its own, a key is priced by path."],
    ["page-alone-post", "POST /api/report", "priced", "By any method."],
    ["page-alone-encoded", "GET /api/rep%6Frt", "priced", "In any reading."],
    ["page-alone-dots", "PUT /api/x/../report", "priced", "By any method."],
    ["page-alone-slashes", "GET /api//report", "priced", "With doubled slashes."],
    ["page-alone-parameters", "GET /api/x/..;a=1/report;b=2", "priced", "With path parameters."],
    ["page-alone-else", "GET /api/reports", "free", "What no key names stays free."],
    ["page-alone-options", "OPTIONS /api/report", "preflight", "OPTIONS runs no handler."],
  ]),
];

export const HANDLER_CASES: readonly Case[] = [
  ...OF_FORMS,
  ...OF_NAMES,
  ...CHAINS,
  ...WAYS,
  ...BESIDE,
  ...ON_THE_WAY,
  ...PAGES,
  ...FREE_HEAD,
];
