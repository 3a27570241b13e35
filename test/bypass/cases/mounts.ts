/**
 * Tables and routes below the top: mount points, routers in routers, and the slashes between them.
 *
 * @module
 */
import { type Case, casesOf, get, router, table } from "../case.js";

const API = router("/api", get("/report"), get("/u/:id"), get("/"));

const MOUNTED: readonly Case[] = [
  ...casesOf({ app: [table("/api"), get("/api/report"), get("/report")], keys: ["GET /api/report"] }, [
    ["mounted-full-key", "GET /api/report", "priced", "A key with the full path is honoured below a mount."],
    ["mounted-full-key-head", "HEAD /api/report", "priced", "For HEAD too."],
    ["mounted-full-key-capitals", "GET /API/Report/", "priced", "However it is written."],
    ["mounted-full-key-query", "GET /api/report?a=1", "priced", "With a query."],
    ["mounted-full-key-absolute", "GET http://a.example/api/report", "priced", "In absolute form."],
    ["mounted-backslash-fragment", "GET /api\\report#x", "priced", "Express 4 reads a slash.", { on: [4] }],
    ["mounted-backslash-fragment-on-5", "GET /api\\report#x", "not found", "Express 5 reads two.", { on: [5] }],
    ["mounted-full-key-elsewhere", "GET /report", "free", "The table is not mounted there."],
  ]),
  ...casesOf({ app: [table("/api"), get("/api/u/:id"), get("/u/:id")], keys: ["GET /u/:id"] }, [
    ["mounted-relative-key", "GET /api/u/42", "priced", "A key relative to the mount, as Express writes routes."],
    ["mounted-relative-key-head", "HEAD /api/u/42", "priced", "For HEAD too."],
    ["mounted-relative-key-encoded", "GET /api/u/a%2Fb", "priced", "With an encoded slash."],
    ["mounted-relative-key-elsewhere", "GET /u/42", "free", "The table is not mounted there."],
  ]),
  ...casesOf({ app: [table("/api"), get("/api"), get("/api/report")], keys: ["GET /"] }, [
    ["mounted-root-key", "GET /api", "priced", "The mount itself, by its relative key."],
    ["mounted-root-key-slash", "GET /api/", "priced", "With a slash."],
    ["mounted-root-key-else", "GET /api/report", "free", "The root is not a prefix."],
  ]),
  ...casesOf({ app: [table("/api"), get("/api")], keys: ["GET /api"] }, [
    ["mounted-at-its-key", "GET /api", "priced", "The mount itself, by its full key."],
    ["mounted-at-its-key-slash", "GET /api/", "priced", "With a slash."],
  ]),
];

const NESTED: readonly Case[] = [
  ...casesOf({ app: [table(), API], keys: ["GET /api/report", "GET /api/u/:id", "GET /api"] }, [
    ["nested", "GET /api/report", "priced", "A route in a router, priced from the top."],
    ["nested-capitals", "GET /API/REPORT/", "priced", "However it is written."],
    ["nested-param", "GET /api/u/a%2Fb", "priced", "With a parameter."],
    ["nested-root", "GET /api", "priced", "The router's own root."],
    ["nested-root-slash", "GET /api/", "priced", "With a slash."],
    ["nested-root-slashes", "GET /api//", "priced", "With two: the router's route for / answers."],
    ["nested-slashes-on-4", "GET /api//report", "priced", "Express 4 swallows a slash at a mount.", { on: [4] }],
    ["nested-slashes-on-5", "GET /api//report", "not found", "Express 5 does not.", { on: [5] }],
    ["nested-head-slashes-on-4", "HEAD /api//report", "priced", "For HEAD too.", { on: [4] }],
    ["nested-param-slashes-on-4", "GET /api//u/7", "priced", "With a parameter.", { on: [4] }],
    ["nested-three-slashes", "GET /api///report", "not found", "One slash is swallowed, not two."],
    ["nested-encoded-slash", "GET /api%2Freport", "not found", "An encoded slash ends no mount."],
    ["nested-dots", "GET /api/x/../report", "not found", "Dot segments are not resolved."],
    ["nested-leading-slashes", "GET //api/report", "not found", "Slashes at the start are not merged."],
    ["nested-backslash", "GET /api\\report", "not found", "A backslash is a character."],
    ["nested-backslashes", "GET \\api\\report", "refused", "A target starts with a slash."],
  ]),
  ...casesOf({ app: [table("/api"), API], keys: ["GET /api/report"] }, [
    ["mounted-nested", "GET /api/report", "priced", "A table at the mount of a router, with a full key."],
    ["mounted-nested-slashes", "GET /api//report", "priced", "Both lose the slash.", { on: [4] }],
  ]),
  ...casesOf({ app: [table("/api"), API], keys: ["GET /report", "GET /"] }, [
    ["mounted-nested-relative", "GET /api/report", "priced", "With a relative key."],
    ["mounted-nested-relative-slashes", "GET /api//report", "priced", "Both lose the slash.", { on: [4] }],
    ["mounted-nested-root-slashes", "GET /api//", "priced", "The router's route for / answers."],
  ]),
  ...casesOf({ app: [router("/api", table(), get("/report"))], keys: ["GET /report"] }, [
    ["inside-router", "GET /api/report", "priced", "A table in a router, with a relative key."],
    ["inside-router-head", "HEAD /api/report", "priced", "For HEAD too."],
  ]),
  ...casesOf({ app: [router("/api", table(), get("/report"))], keys: ["GET /api/report"] }, [
    ["inside-router-full-key", "GET /api/report", "priced", "With a full key."],
    ["inside-router-full-key-slashes", "GET /api//report", "priced", "After a swallowed slash.", { on: [4] }],
  ]),
  ...casesOf({ app: [table(), router("/api", router("/v1", get("/report")))], keys: ["GET /api/v1/report"] }, [
    ["router-in-router", "GET /api/v1/report", "priced", "Routers in routers."],
    ["router-in-router-slashes", "GET /api//v1//report", "priced", "A slash is swallowed at each.", { on: [4] }],
    ["router-in-router-slashes-on-5", "GET /api//v1//report", "not found", "None is.", { on: [5] }],
  ]),
  ...casesOf({ app: [table(), router("/:tenant", get("/report"))], keys: ["GET /:tenant/report"] }, [
    ["router-at-param", "GET /acme/report", "priced", "A router at a parameter."],
    ["router-at-param-slashes", "GET /acme//report", "priced", "A slash is swallowed there too.", { on: [4] }],
    ["router-at-param-encoded", "GET /a%2Fb/report", "priced", "With an encoded slash."],
  ]),
  ...casesOf({ app: [router("/:tenant", table(), get("/report"))], keys: ["GET /acme/report"] }, [
    ["inside-router-at-param", "GET /acme/report", "priced", "A full key with the parameter's value."],
    ["inside-router-at-param-else", "GET /other/report", "priced", "The handler has the price of its key."],
  ]),
  ...casesOf({ app: [table(), router("/", get("/report"))], keys: ["GET /report"] }, [
    ["router-at-top", "GET /report", "priced", "A router at the top."],
    ["router-at-top-slashes", "GET //report", "not found", "There no slash is swallowed."],
  ]),
];

export const MOUNT_CASES: readonly Case[] = [...MOUNTED, ...NESTED];
