/**
 * Paths that have one price as the router sees them, and another as a function behind it may; and several tables.
 *
 * @module
 */
import {
  all,
  type Case,
  casesOf,
  get,
  NOT_FOUND,
  proxy,
  type Row,
  router,
  type Step,
  table,
  use,
  VAIN,
  type Work,
} from "../case.js";

const USERS = { app: [table(), proxy("/"), NOT_FOUND], keys: ["GET /u/:id", "GET /u/vip"] };
const OF_ID = { by: "GET /u/:id" };
const OF_VIP = { by: "GET /u/vip" };

const TWO_PRICES: readonly Case[] = [
  ...casesOf(USERS, [
    ["price-of-text", "GET /u/vip", "priced", "Plain text wins.", OF_VIP],
    ["price-of-parameter", "GET /u/7", "priced", "The parameter has the rest.", OF_ID],
    ["price-by-post", "POST /u/VIP/", "priced", "By any method, in other case.", OF_VIP],
    ["price-letter", "GET /u/%76ip", "refused", "Decoded, it has another price."],
    ["price-letter-twice", "GET /u/%2576ip", "refused", "Decoded twice."],
    ["price-letter-post", "POST /u/%76ip", "refused", "By any method."],
    ["price-parameters", "GET /u/vip;x=1", "refused", "Without its parameters."],
    ["price-same-parameters", "GET /u/7;x=1", "priced", "It has the same price without.", OF_ID],
    ["price-space", "GET /u/a%20b", "priced", "Decoded, it has the same price.", OF_ID],
    ["price-encoded-slash", "GET /u/a%2Fb", "priced", "Decoded, it has none.", OF_ID],
    ["price-dots", "GET /u/x/../vip", "priced", "Only resolved it has a price.", OF_VIP],
    ["price-slashes", "GET /u//vip", "priced", "Only merged it has one.", OF_VIP],
    ["price-authority", "GET //x/u/vip", "priced", "Only behind an authority.", OF_VIP],
    ["price-authority-id", "GET //x/u/7", "priced", "Of the other key.", OF_ID],
    ["price-dots-parameters", "GET /a/..;/u/vip", "priced", "Or behind dots with parameters.", OF_VIP],
    ["price-none", "GET /v/%76ip", "free", "No reading has a price."],
  ]),
  ...casesOf({ app: [table(), get("/u/:id"), get("/u/vip")], keys: USERS.keys }, [
    ["price-at-route", "GET /u/vip", "priced", "The most specific key.", OF_VIP],
    ["price-at-route-letter", "GET /u/%76ip", "refused", "The parameter is decoded: it names what costs more."],
    ["price-at-route-space", "GET /u/a%20b", "priced", "Decoded, it has the same price.", OF_ID],
  ]),
  ...casesOf({ app: [table(), get("/u/:id")], keys: USERS.keys }, [
    ["price-at-one-route", "GET /u/vip", "priced", "One handler for both keys.", OF_VIP],
    ["price-at-one-route-letter", "GET /u/%76ip", "refused", "It gets the parameter decoded."],
    ["price-at-one-route-else", "GET /u/a%20b", "priced", "Decoded, it has the same price.", OF_ID],
  ]),
  ...casesOf({ app: [table(), get("/docs/:name"), NOT_FOUND], keys: ["GET /docs/:name"] }, [
    ["price-of-name", "GET /docs/a%20b", "priced", "One price, in all readings."],
    ["price-of-name-slash", "GET /docs/a%2Fb", "priced", "Also where one is no key's."],
    ["price-of-name-dots", "GET /docs/%2e%2e", "priced", "Also where it leads away."],
    ["price-of-name-parameters", "GET /docs/a;b=1", "priced", "Also with parameters."],
  ]),
];

/** Node's own idiom: `new URL(req.url, base)`. */
const READS_THE_URL: Work = { does: "reads the URL" };

const AUTHORITIES: readonly (readonly [how: string, prefix: string])[] = [
  ["host", "//x"],
  ["host-name", "//evil.example"],
  ["port", "//x:1"],
  ["user", "//a@b"],
  ["user-and-password", "//a:b@c:2"],
  ["backslash", "/\\x"],
  ["backslashes", "/\\\\x"],
  ["three-slashes", "///x"],
  ["address", "//[::1]"],
  ["dots", "/x/.."],
  ["encoded-dots", "/x/%2e%2e"],
  ["authority-and-dots", "//x/y/.."],
];

/** In front of a handler that reads the URL, whatever stands behind. */
function authorities(name: string, steps: readonly Step[], path = "/report", mount = ""): readonly Case[] {
  const more: readonly Row[] = [
    [`${name}-plain`, `GET ${mount}${path}`, "priced", "The key's own request."],
    [`${name}-post`, `POST ${mount}${path}`, "priced", "By any method."],
    [`${name}-parameters`, `GET ${mount}${path};x=1`, "priced", "Others drop path parameters.", VAIN],
    [`${name}-dots-parameters`, `GET ${mount}/a/..;${path}`, "priced", "Also of dots.", VAIN],
    [`${name}-else`, `GET ${mount}//x/reports`, "not found", "What no key names is not asked for money."],
  ];
  const rows = AUTHORITIES.flatMap(([how, prefix], index): Row[] => {
    const request = `${index % 2 === 0 ? "GET" : "POST"} ${mount}`;
    const [must, why] = ["priced", "The handler reads the path behind it."] as const;
    if (mount === "" || !prefix.startsWith("//")) return [[`${name}-${how}`, `${request}${prefix}${path}`, must, why]];
    // Express 4 swallows a slash at a mount.
    return [
      [`${name}-${how}`, `${request}${prefix}${path}`, must, why, { on: [5] }],
      [`${name}-${how}-on-4`, `${request}/${prefix}${path}`, must, why, { on: [4] }],
    ];
  });
  return casesOf({ app: [table(), ...steps], keys: [`GET ${mount}${path}`] }, [...more, ...rows]);
}

const URLS: readonly Case[] = [
  ...authorities("url-expression", [all({ regexp: ".*" }, READS_THE_URL)]),
  ...authorities("url-use-not-found", [use("/", READS_THE_URL), NOT_FOUND]),
  ...authorities("url-mount", [use("/api", READS_THE_URL), NOT_FOUND], "/report", "/api"),
  ...authorities("url-deep", [use("/", READS_THE_URL), NOT_FOUND], "/v1/report"),
];

const BELOW = [table(), use("/api", READS_THE_URL), NOT_FOUND];

const BELOW_A_MOUNT: readonly Case[] = [
  ...casesOf({ app: BELOW, keys: ["GET /api/:a/report", "GET /api/report"] }, [
    ["below-two-plain", "GET /api/report", "priced", "The key's own request.", { by: "GET /api/report" }],
    [
      "below-two-parameter",
      "GET /api/x/report",
      "priced",
      "The other key's.",
      { by: "GET /api/:a/report", vain: true },
    ],
    ["below-two-authority", "GET /api//x/report", "refused", "It is both, at two prices.", { on: [5] }],
    ["below-two-authority-on-4", "GET /api///x/report", "refused", "It is both, at two prices.", { on: [4] }],
    ["below-two-authority-post", "POST /api/\\x/report", "refused", "By any method."],
  ]),
  ...casesOf({ app: BELOW, keys: ["GET /api/*", "GET /api/report"] }, [
    ["below-star-plain", "GET /api/report", "priced", "The key's own request.", { by: "GET /api/report" }],
    ["below-star-authority", "GET /api/\\x/report", "refused", "It is both, at two prices."],
    ["below-star-letter", "GET /api/%72eport", "refused", "Decoded too."],
    ["below-star-else", "GET /api/x/report", "priced", "The star has the rest.", { by: "GET /api/*", vain: true }],
  ]),
];

const MANY = ["GET /users/:id", "GET /users/me"];
const OF_ME = { by: "GET /users/me" };
const [OF_ANY = "", OF_SELF = ""] = MANY;
const ROUTES = [get("/users/me"), get("/users/:id")];

/** The most specific key over all tables, in whatever order they stand. */
const TABLES: readonly Case[] = [
  [table("/", [OF_ANY]), table("/", [OF_SELF]), ...ROUTES],
  [table("/", [OF_SELF]), table("/", [OF_ANY]), ...ROUTES],
  [table("/", [OF_ANY]), router("/users", table("/", [OF_SELF]), get("/me"), get("/:id"))],
  [table("/users", [OF_ANY]), table("/", [OF_SELF]), ...ROUTES],
].flatMap((app, index) =>
  casesOf({ app, keys: MANY }, [
    [`tables-${index}-specific`, "GET /users/me", "priced", "The most specific key over all tables.", OF_ME],
    [`tables-${index}-spelled`, "HEAD /Users/ME/", "priced", "In each spelling.", OF_ME],
    [`tables-${index}-other`, "GET /users/7", "priced", "The parameter has the rest.", { by: OF_ANY }],
  ]),
);

const CHARGES: Work = { does: "charges" };
const ANSWERS: Work = { does: "answers", takesNext: true };
const BY_CHARGE = { by: "charge" };
const WIDE = { 4: "/api/*", 5: "/api/*rest" };

/** A charge in the route is nearer than a key. */
const CHARGED: readonly Case[] = [
  ...casesOf({ app: [table(), get("/api/dear", CHARGES, ANSWERS), get(WIDE)], keys: ["GET /api/*"] }, [
    ["charge-below-table", "GET /api/dear", "priced", "The charge in the route.", BY_CHARGE],
    ["charge-below-table-head", "HEAD /API/Dear/", "priced", "In each spelling.", BY_CHARGE],
    ["charge-below-table-else", "GET /api/cheap", "priced", "The key has the rest.", { by: "GET /api/*" }],
  ]),
  ...casesOf({ app: [get("/api/dear", CHARGES, ANSWERS), table(), get(WIDE)], keys: ["GET /api/*"] }, [
    ["charge-before-table", "GET /api/dear", "priced", "The charge in the route.", BY_CHARGE],
    ["charge-before-table-else", "GET /api/cheap", "priced", "The key has the rest.", { by: "GET /api/*" }],
  ]),
  ...casesOf({ app: [table(), all("/api/dear", CHARGES, ANSWERS)], keys: ["GET /api/dear"] }, [
    ["charge-at-all-get", "GET /api/dear", "priced", "Also where the key is written like the route.", BY_CHARGE],
    ["charge-at-all-post", "POST /api/dear", "priced", "By every method.", BY_CHARGE],
    ["charge-at-all-options", "OPTIONS /api/dear", "preflight", "OPTIONS runs no handler."],
  ]),
];

export const PRICE_CASES: readonly Case[] = [...TWO_PRICES, ...URLS, ...BELOW_A_MOUNT, ...TABLES, ...CHARGED];
