/**
 * Which methods a key covers, and who decides what the method is.
 *
 * @module
 */
import { all, type Case, casesOf, get, override, route, table } from "../case.js";

const READ = { app: [table(), get("/paid"), get("/free")], keys: ["GET /paid"] };

export const METHOD_CASES: readonly Case[] = [
  ...casesOf(READ, [
    ["get", "GET /paid", "priced", "The plain case."],
    ["head-through-get", "HEAD /paid", "priced", "Express serves HEAD through a route for GET."],
    ["head-with-query", "HEAD /paid?a=1", "priced", "A query changes nothing about the route."],
    ["head-slash", "HEAD /paid/", "priced", "A trailing slash leads to the same route for HEAD too."],
    ["other-path", "GET /free", "free", "What no key names is free."],
    ["method-without-route", "DELETE /paid", "not found", "Neither a key nor a route is for DELETE."],
    ["unknown-method-without-route", "PROPFIND /paid", "not found", "Node knows more methods than a key can name."],
  ]),
  ...casesOf({ app: [table(), route(["head"], "/paid"), get("/paid")], keys: ["GET /paid"] }, [
    ["head-route-of-its-own", "HEAD /paid", "priced", "A key for GET covers HEAD, also where HEAD has its own route."],
  ]),
  ...casesOf({ app: [table(), get("/paid")], keys: ["HEAD /paid"] }, [
    ["head-key-for-head", "HEAD /paid", "priced", "A key may name HEAD."],
    ["head-key-for-get", "GET /paid", "priced", "The handler has a price: no other method runs it unpaid."],
  ]),
  ...casesOf({ app: [table(), route(["get", "post"], "/paid")], keys: ["GET /paid", "HEAD /paid"] }, [
    ["head-key-beats-get", "HEAD /paid", "priced", "The key that names HEAD is closer than GET.", { by: "HEAD /paid" }],
    ["post-beside-get", "POST /paid", "free", "A key for GET says nothing about POST."],
  ]),
  ...casesOf({ app: [table(), all("/paid")], keys: ["/paid"] }, [
    ["any-method-get", "GET /paid", "priced", "A key without a method is for all of them."],
    ["any-method-head", "HEAD /paid", "priced", "HEAD is one of them."],
    ["any-method-post", "POST /paid", "priced", "So is POST."],
    ["any-method-delete", "DELETE /paid", "priced", "So is DELETE."],
    ["any-method-propfind", "PROPFIND /paid", "priced", "So is a method that no key can name."],
    ["any-method-trace", "TRACE /paid", "priced", "So is TRACE, which app.all answers."],
    [
      "any-method-options",
      "OPTIONS /paid",
      "preflight",
      "But not OPTIONS: browsers ask before they pay, and the handler does not run.",
    ],
  ]),
  ...casesOf({ app: [table(), route(["get", "options"], "/paid")], keys: ["GET /paid"] }, [
    ["options-beside-get", "OPTIONS /paid", "free", "A key for GET does not cover OPTIONS."],
  ]),
  ...casesOf({ app: [table(), route(["get", "options"], "/paid")], keys: ["OPTIONS /paid"] }, [
    ["options-by-name", "OPTIONS /paid", "priced", "OPTIONS is priced where a key names it."],
  ]),
  ...casesOf({ app: [table(), all("/paid")], keys: ["GET /paid"] }, [
    ["all-route-get", "GET /paid", "priced", "app.all answers GET."],
    ["all-route-head", "HEAD /paid", "priced", "app.all answers HEAD."],
    ["all-route-post", "POST /paid", "priced", "app.all answers POST with the priced handler."],
  ]),
  ...casesOf({ app: [override, table(), get("/paid"), route(["post"], "/paid")], keys: ["GET /paid"] }, [
    ["override-before-table", "POST /paid?_method=GET", "priced", "What earlier middleware made of the method counts."],
    ["override-to-head", "POST /paid?_method=HEAD", "priced", "HEAD goes through GET, however it came about."],
    ["override-away", "GET /paid?_method=POST", "free", "The route for POST runs, and no key names POST."],
  ]),
  ...casesOf({ app: [table(), override, get("/paid")], keys: ["/paid"] }, [
    ["override-after-table", "POST /paid?_method=GET", "priced", "A key without a method covers a change behind it."],
  ]),
  ...casesOf({ app: [table(), override, get("/paid")], keys: ["GET /paid"] }, [
    [
      "override-after-table-by-method",
      "POST /paid?_method=GET",
      "priced",
      "The table saw POST; the handler is priced.",
    ],
  ]),
];
