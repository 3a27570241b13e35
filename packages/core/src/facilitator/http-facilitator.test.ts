import { createServer, type IncomingMessage } from "node:http";
import { inspect } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { ConfigError } from "../errors.js";
import { createHttpFacilitator, type FacilitatorHeaders, type HttpFacilitatorOptions } from "./http-facilitator.js";
import { call, closeServers, failureOf, listen, type Operation, REQUEST, serve } from "./http-server.fixture.js";

afterEach(closeServers);

describe("requests", () => {
  async function record(operation: Operation, options: Partial<HttpFacilitatorOptions> & { path?: string } = {}) {
    const { path = "", ...more } = options;
    const seen: (IncomingMessage & { body: string })[] = [];
    const url = await serve((request, response) => {
      seen.push(request);
      response.end(JSON.stringify({ isValid: true, success: true, kinds: [] }));
    });
    await call(url + path, operation, more);
    expect(seen).toHaveLength(1);
    return seen[0]!;
  }

  test.each(["verify", "settle"] as const)("%s posts the request as JSON", async (operation) => {
    const { method, url, headers, body } = await record(operation, { path: "/facilitator/" });
    expect([method, url]).toEqual(["POST", `/facilitator/${operation}`]);
    expect(headers).toMatchObject({ accept: "application/json", "content-type": "application/json" });
    expect(JSON.parse(body)).toEqual(REQUEST);
  });

  test("supported is a GET without a body", async () => {
    const { method, url, body } = await record("supported");
    expect([method, url, body]).toEqual(["GET", "/supported", ""]);
  });

  test("headers are sent", async () => {
    const { headers } = await record("verify", { headers: { Authorization: "Bearer abc" } });
    expect(headers.authorization).toBe("Bearer abc");
  });

  test("a function for headers is called before each request, with the name of the call", async () => {
    const { headers } = await record("settle", { headers: async (operation) => ({ "X-Call": operation }) });
    expect(headers["x-call"]).toBe("settle");
  });

  test.each<[headers: FacilitatorHeaders, why: string]>([
    [{ verify: { "x-call": "verify" }, settle: { "x-call": "settle" } }, "an object"],
    [() => ({ verify: { "x-call": "verify" }, settle: { "x-call": "settle" } }), "a function"],
    [
      async () => ({ settle: { "x-call": "settle" }, bazaar: { "x-call": "other" } }) as object,
      "with other calls, too",
    ],
  ])("headers by call are sent with that call only: %o, %s", async (headers) => {
    expect((await record("settle", { headers })).headers["x-call"]).toBe("settle");
    const { headers: sent } = await record("supported", { headers });
    expect(sent).not.toHaveProperty("x-call");
    expect(sent.accept).toBe("application/json");
  });

  test("headers in an object are read once, so later changes are not sent", async () => {
    const seen: (string | undefined)[] = [];
    const url = await serve(({ headers }, response) => {
      seen.push(headers.authorization);
      response.end('{"isValid":true}');
    });
    const headers = { authorization: "Bearer 1" };
    const facilitator = createHttpFacilitator({ url, headers });
    headers.authorization = "Bearer 2";
    await facilitator.verify(REQUEST);
    expect(seen).toEqual(["Bearer 1"]);
  });

  test("a seller's header replaces ours, in any case of letters", async () => {
    const { headers } = await record("verify", { headers: { "Content-Type": "application/json; charset=utf-8" } });
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
  });
});

test("twenty calls in a row use one connection", async () => {
  let connections = 0;
  // A busy machine pauses a test for longer than the five seconds that a connection may be idle.
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume().once("end", () => response.end('{"isValid":true}'));
  });
  server.on("connection", () => connections++);
  const facilitator = createHttpFacilitator({ url: await listen(server) });
  for (let call = 0; call < 20; call++) {
    await facilitator.verify(REQUEST);
    // A connection is free a moment after its response was read. Real requests never follow each other sooner.
    await new Promise(setImmediate);
  }
  expect(connections).toBe(1);
});

describe("responses", () => {
  test.each<[operation: Operation, status: number, body: object, answer: object, why: string]>([
    ["verify", 200, { isValid: true }, { isValid: true }, "valid"],
    ["verify", 400, { isValid: false }, { isValid: false }, "a refusal may have any status"],
    ["verify", 500, { is_valid: false }, { isValid: false }, "a refusal may have any status"],
    ["settle", 200, { success: true }, { success: true, transaction: "", network: "eip155:84532" }, "settled"],
    [
      "settle",
      500,
      { success: false, error_reason: "insufficient_funds" },
      { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" },
      "a refusal with a reason may have any status",
    ],
    [
      "settle",
      429,
      { success: false, errorReason: "insufficient_funds" },
      { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" },
      "a refusal with a reason may have any status",
    ],
    ["supported", 200, { kinds: [] }, { kinds: [], extensions: [], signers: {} }, "nothing supported"],
  ])("%s reads %i %j as %j: %s", async (operation, status, body, answer) => {
    const url = await serve((_, response) => response.writeHead(status).end(JSON.stringify(body)));
    await expect(call(url, operation)).resolves.toEqual(answer);
  });

  test.each<[operation: Operation, status: number, body: object, outcome: "none" | "unknown", why: string]>([
    ["verify", 500, { isValid: true }, "none", "valid, but an error status"],
    ["verify", 401, { isValid: true }, "none", "valid, but an error status"],
    ["settle", 500, { success: true, transaction: "0x1" }, "unknown", "settled, but an error status"],
    ["settle", 500, { success: false, error: "Internal error" }, "unknown", "the error page of a broken server"],
    ["settle", 429, { success: false, message: "Too many" }, "unknown", "the error page of a busy server"],
    ["supported", 500, { kinds: [] }, "none", "an error status"],
  ])("%s rejects %i %j with outcome %s: %s", async (operation, status, body, outcome) => {
    const url = await serve((_, response) => response.writeHead(status).end(JSON.stringify(body)));
    const code = "ERR_FAREBOX_FACILITATOR_STATUS";
    expect(await failureOf(call(url, operation))).toMatchObject({ code, status, outcome });
  });
});

describe("invalid headers", () => {
  test.each<[headers: () => unknown, named: string, why: string]>([
    [
      () => {
        throw new RangeError("no token: hunter2");
      },
      "RangeError",
      "the function throws",
    ],
    [() => Promise.reject(new RangeError("no token: hunter2")), "RangeError", "the function rejects"],
    [() => Promise.reject("hunter2"), "unknown", "the function rejects with a string"],
    [() => undefined, "TypeError", "the function returns nothing"],
    [async () => "Bearer hunter2", "TypeError", "the function returns a string"],
    [() => ({ authorization: "Bearer\nhunter2" }), "TypeError", "a line break in a value"],
    [() => ({ settle: { authorization: "Bearer\nhunter2" } }), "TypeError", "a line break in a value for the call"],
    [() => ({ settle: "Bearer hunter2" }), "TypeError", "a value where headers are expected"],
  ])("%o send nothing and reject (%s): %s", async (headers, named) => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests++;
      response.end("{}");
    });
    const failure = await failureOf(call(url, "settle", { headers: headers as () => Record<string, string> }));
    expect(failure).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
      outcome: "none",
      message: `headers for settle are missing, so nothing was sent (${named})`,
    });
    expect(inspect(failure, { depth: 9 })).not.toContain("hunter2");
    expect(requests).toBe(0);
  });

  test.each([{ authorization: "Bearer\nhunter2" }, { "hunter2 name": "" }, { verify: { authorization: "é€hunter2" } }])(
    "%o make createHttpFacilitator throw, without quoting them",
    (headers) => {
      const create = () => createHttpFacilitator({ url: "https://x.org", headers: headers as Record<string, string> });
      expect(create).toThrow(ConfigError);
      expect(create).not.toThrow(/hunter2/);
    },
  );
});

test.each(["", "facilitator", "ftp://x", "https://a:b@x", "https://x?key=1", 5 as unknown as string])(
  "a URL of %j makes createHttpFacilitator throw, without quoting it",
  (url) => {
    expect(() => createHttpFacilitator({ url })).toThrow(ConfigError);
    expect(() => createHttpFacilitator({ url })).not.toThrow(/a:b|key=1/);
  },
);
