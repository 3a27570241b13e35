/**
 * What a seller declares for a request that it serves, a facilitator accepts: one entry for each key, and none for a path of another
 * shape.
 *
 * @module
 */
import { type ReadRegistration, readRegistration } from "@farebox/bazaar/facilitator";
import type { JsonObject } from "@farebox/core";
import { createPayments, type PaymentsOptions, type RoutesConfig } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import express from "express";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { readDraws } from "../draws.js";
import { openShop, PRICED, type Shop } from "../express/shop.js";
import { PATIENT_SELLER } from "../interop/servers.js";

const DECLARED = { ...PRICED, extensions: { bazaar: { outputSchema: { type: "object" } } } } as const;
const LOCAL = { allowLocal: true };

const NOT_LISTABLE = "FAREBOX_TEMPLATE_NOT_LISTABLE";

function routesOf(keys: readonly string[]): RoutesConfig {
  return Object.fromEntries(keys.map((key) => [key as `/${string}`, DECLARED]));
}

function openKeys(keys: readonly string[], options: Partial<PaymentsOptions> = {}): Promise<Shop> {
  return openShop(express, {
    routes: routesOf(keys),
    options: { strict: false, ...options },
    build(app, payments) {
      app.use(payments);
      app.use((_req, res) => void res.json({}));
    },
  });
}

/** Codes of the findings about keys. */
function findingsOf(keys: readonly string[], options: Partial<PaymentsOptions>): readonly string[] {
  const payments = createPayments({
    ...PATIENT_SELLER,
    facilitator: createTestFacilitator(),
    strict: false,
    ...options,
  });
  onTestFinished(() => payments.close());
  payments.routes(routesOf(keys));
  return payments.report().findings.map(({ code }) => code);
}

/** What a facilitator reads of a payment for this challenge. */
function readChallenge({ extensions, resource, accepts }: JsonObject, url?: string): ReadRegistration {
  const [accepted] = accepts as readonly JsonObject[];
  const paid = { extensions, resource: { ...(resource as JsonObject), ...(url === undefined ? {} : { url }) } };
  return readRegistration({ paymentPayload: { ...paid, accepted }, paymentRequirements: accepted }, LOCAL);
}

describe("a path that was paid for", () => {
  test.each([
    ["/files/*/raw/*", "/files/a/x/raw/b/c", "/files/:var1/raw/:var2", { var1: "a/x", var2: "b/c" }],
    ["/files/*/raw/*", "/files/raw", "/files/:var1/raw/:var2", { var1: "", var2: "" }],
    ["/a/*/b/*/c/*", "/a/1/b/2/3/c/4", "/a/:var1/b/:var2/c/:var3", { var1: "1", var2: "2/3", var3: "4" }],
    ["/a/*/b", "/a/b", "/a/:var1/b", { var1: "" }],
    ["/dl2/*rest", "/dl2/a/b", "/dl2/:rest", { rest: "a/b" }],
    ["/dl3{/*rest}", "/dl3", "/dl3/:rest", { rest: "" }],
    ["/o{/:id}", "/o/7", "/o/:id", { id: "7" }],
    ["/a\\:b/:c", "/a:b/1", "/a%3Ab/:c", { c: "1" }],
  ])("the key %s that is bought as %s is listed as %s", async (key, path, template, pathParams) => {
    const shop = await openKeys([key]);
    expect(await shop.pay({ path })).toMatchObject({ status: 200 });
    const [payment] = shop.facilitator.verified;
    const read = readRegistration({ paymentPayload: payment, paymentRequirements: payment?.accepted }, LOCAL);
    expect(read).toMatchObject({
      kind: "registration",
      registration: { resource: shop.url + template, routeTemplate: template, info: { input: { pathParams } } },
    });
  });

  test.each(["/v1", "/a%20b", "/%C3%A9+;:x"])("a template has the path %s of the seller's public URL", async (path) => {
    const publicUrl = `https://api.example.com${path}`;
    const keys = ["/users/:id", "/"];
    const shop = await openKeys(keys, { publicUrl });
    const { challenge } = await shop.ask({ path: "/users/7" });
    const template = `${path.replace(/[+;:]/g, encodeURIComponent)}/users/:id`;
    expect(readChallenge(challenge as never)).toMatchObject({
      registration: { resource: `https://api.example.com${template}`, routeTemplate: template },
    });
    expect(findingsOf(keys, { publicUrl })).not.toContain(NOT_LISTABLE);
  });

  test.each([
    ["leads upwards", "/f/a/../../admin"],
    ["leads upwards, encoded", "/f/%2e%2e/admin"],
    ["has a segment that is one dot", "/f/."],
    ["has a NUL", "/f/a%00b"],
    ["is too long", `/f/${"a".repeat(2_048)}`],
    ["has too long a query", `/g?${"a".repeat(2_048)}`],
  ])("a path that catalogs reject declares nothing: it %s", async (_why, path) => {
    const shop = await openKeys(["/f/*", "/g"], { includeQuery: true });
    const { status, challenge } = await shop.ask({ path });
    expect(status).toBe(402);
    expect(challenge).not.toHaveProperty("extensions.bazaar");
  });

  test.each([
    ["/x/:constructor/:toString", ""],
    ["/x/:__proto__", ""],
    ["/x/:id", "/a%3Fb"],
  ])(
    "the key %s below the path %j of publicUrl gives a finding, and each of its paths is listed by itself",
    async (key, below) => {
      const options = { publicUrl: `https://api.example.com${below}` };
      expect(findingsOf([key], options)).toContain(NOT_LISTABLE);
      const path = key.replaceAll(/:\w+/g, "7");
      const shop = await openKeys([key], options);
      const { challenge } = await shop.ask({ path });
      expect(readChallenge(challenge as never)).toMatchObject({
        kind: "registration",
        registration: { resource: options.publicUrl + path },
      });
    },
  );
});

/** A piece of a key, and of a path that it serves. */
interface Piece {
  readonly key: string;
  readonly path: string;
  readonly isRest?: boolean;
}

const value = fc.constantFrom("a", "B7", "x.y", "a%20b", "%C3%A9", "a%2Fb", "%zz", "1", "var1", "~", "a;b=c");
const rest = (minLength: number) =>
  fc.array(value, { minLength, maxLength: 3 }).map((values) => values.map((one) => `/${one}`).join(""));

/** Names are made unique by their place. */
const piece: fc.Arbitrary<(at: number) => Piece> = fc.oneof(
  fc.constantFrom("raw", "A-b", "v1.0", "%41b").map((text) => () => ({ key: `/${text}`, path: `/${text}` })),
  value.map((one) => (at: number) => ({ key: `/:p${at}`, path: `/${one}` })),
  value.map((one) => (at: number) => ({ key: `/[p${at}]`, path: `/${one}` })),
  value.map((one) => (at: number) => ({ key: `/v:p${at}.json`, path: `/v${one}.json` })),
  fc.tuple(value, value).map(([a, b]) => (at: number) => ({ key: `/:p${at}-:q${at}`, path: `/${a}-${b}` })),
  fc.option(value).map((one) => (at: number) => ({ key: `{/:p${at}}`, path: one === null ? "" : `/${one}` })),
  rest(0).map((path) => () => ({ key: "/*", path, isRest: true })),
  rest(1).map((path) => (at: number) => ({ key: `/*p${at}`, path, isRest: true })),
  rest(0).map((path) => (at: number) => ({ key: `{/*p${at}}`, path, isRest: true })),
);

const keyOf = (pieces: readonly Piece[]) => pieces.map(({ key }) => key).join("");

const plan = fc
  .tuple(
    fc.array(piece, { minLength: 1, maxLength: 5 }).map((some) => some.map((make, at) => make(at))),
    fc.constantFrom("", "/"),
    fc.boolean(),
  )
  .filter(([pieces]) => pieces.filter(({ isRest }) => isRest).length <= 2 && !/\*\{/.test(keyOf(pieces)))
  .map(([pieces, end, isUpper]) => ({ pieces, end, isUpper }));

const draws = readDraws("templates on both sides");

test(
  "a facilitator accepts every path of a generated key, and no path of another shape",
  async () => {
    for (const seed of draws.seeds()) {
      const drawn = fc.sample(plan, { seed, numRuns: 50 }).map(({ pieces, end, isUpper }, at) => {
        const below = pieces.map(({ path }) => path).join("") + end;
        const mount = isUpper ? `/K${at}` : `/k${at}`;
        return { key: `/k${at}${keyOf(pieces)}`, path: mount + below, pieces, at };
      });
      const shop = await openKeys(drawn.map(({ key }) => key));
      let accepted = 0;
      for (const { key, path, pieces, at } of drawn) {
        const { challenge } = await shop.ask({ path });
        const declared = (challenge as JsonObject | undefined)?.["extensions"];
        if (challenge === undefined || declared === undefined) continue;
        accepted += 1;
        const said = `${key} as ${path} declares ${JSON.stringify((declared as JsonObject)["bazaar"])}, seed ${seed}`;
        const read = readChallenge(challenge as never);
        expect(read, said).toMatchObject({ kind: "registration" });
        if (read.kind !== "registration" || read.registration.routeTemplate === undefined) continue;
        const { routeTemplate, resource } = read.registration;
        expect(resource, said).toBe(shop.url + routeTemplate);
        const others = [`/x${path}`, path.replace(/^\/k/i, "/j"), `/k${at}x${path.slice(`/k${at}`.length)}`];
        if (!pieces.some(({ isRest }) => isRest)) others.push(`${path}/one-more`);
        for (const other of others) {
          const elsewhere = readChallenge(challenge as never, shop.url + other);
          expect(elsewhere, `${routeTemplate} for ${other}, seed ${seed}`).toMatchObject({
            kind: "rejected",
            reason: expect.stringContaining("routeTemplate does not match the path"),
          });
        }
      }
      // Some keys clash, and Express refuses two wildcards in a row.
      expect(accepted).toBeGreaterThan(30);
    }
  },
  draws.timeoutMs,
);
