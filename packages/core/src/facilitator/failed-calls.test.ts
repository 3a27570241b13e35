import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createHttpFacilitator } from "./http-facilitator.js";
import { call, closeServers, expectFailures, failureOf, listen, REQUEST, serve } from "./http-server.fixture.js";

afterEach(closeServers);

describe("an error status", () => {
  test.each([300, 304, 400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 502, 503, 504])(
    "status %i leaves the outcome of a settlement unknown",
    async (status) => {
      const url = await serve((_, response) => response.writeHead(status).end());
      await expectFailures(url, "ERR_FAREBOX_FACILITATOR_STATUS", "unknown");
    },
  );

  test("a FacilitatorError has the status and Retry-After, and a message without the body", async () => {
    const url = await serve((_, response) => response.writeHead(503, { "Retry-After": "17" }).end("secret"));
    const failure = await failureOf(call(url, "verify"));
    expect(failure).toMatchObject({ status: 503, retryAfterSeconds: 17 });
    expect(failure.message).toBe("facilitator responded to verify with status 503");
  });
});

describe("a body that is invalid", () => {
  test.each<[why: string, body: string]>([
    ["empty", ""],
    ["plain text", "OK"],
    ["an HTML page", "<!doctype html><html></html>"],
    ["truncated JSON", '{"isValid":true,"success":true,"kin'],
    ["null", "null"],
    ["a list", "[]"],
    ["an empty object", "{}"],
    ["strings for booleans", '{"isValid":"true","success":"true","kinds":{}}'],
    ["nested too deeply", `{"isValid":true,"success":true,"kinds":[],"x":${"[".repeat(40)}${"]".repeat(40)}}`],
  ])("a body that is %s leaves the outcome of a settlement unknown", async (_why, body) => {
    const url = await serve((_, response) => response.end(body));
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_RESPONSE", "unknown");
    expect(await failureOf(call(url, "settle"))).not.toHaveProperty("cause");
  });

  test("a body of more than 256 KiB leaves the outcome of a settlement unknown", async () => {
    const url = await serve((_, response) => response.end('{"isValid":true}'.padEnd(256 * 1024 + 1)));
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_RESPONSE", "unknown");
    expect((await failureOf(call(url, "verify"))).cause).toEqual(new RangeError("longer than 262144 bytes"));
  });

  test("a body of 256 KiB is read", async () => {
    const url = await serve((_, response) => response.end('{"isValid":true}'.padEnd(256 * 1024)));
    await expect(call(url, "verify")).resolves.toEqual({ isValid: true });
  });

  test("a body that breaks off leaves the outcome of a settlement unknown", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "Content-Length": 1000 }).write('{"isValid":true,"success":true,"kinds":[]}');
      setImmediate(() => response.destroy());
    });
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_RESPONSE", "unknown");
    expect((await failureOf(call(url, "settle"))).cause).toBeInstanceOf(Error);
  });

  test("a body without end is not read to its end", async () => {
    let written = 0;
    const url = await serve((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(" ".repeat(64 * 1024))) written++;
      };
      response.on("drain", more);
      more();
    });
    expect(await failureOf(call(url, "settle"))).toMatchObject({ code: "ERR_FAREBOX_FACILITATOR_RESPONSE" });
    expect(written).toBeLessThan(1_000);
  });
});

describe("a missing response", () => {
  test("a settlement to a closed port has the outcome none", async () => {
    const server = createTcpServer();
    const url = await listen(server);
    server.close();
    await once(server, "close");
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_UNREACHABLE", "none");
    expect((await failureOf(call(url, "settle"))).message).toBe(
      "facilitator could not be reached for settle (ECONNREFUSED)",
    );
  });

  test("a settlement whose TLS handshake fails has the outcome none", async () => {
    const url = await listen(createTcpServer((socket) => socket.once("data", () => socket.end("hello\r\n\r\n"))));
    await expectFailures(url.replace("http:", "https:"), "ERR_FAREBOX_FACILITATOR_UNREACHABLE", "none");
  });

  test("a settlement whose connection is reset after the request has an unknown outcome", async () => {
    const url = await serve((request) => void request.socket.resetAndDestroy());
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_UNREACHABLE", "unknown");
  });

  test("a settlement whose connection is closed after the request has an unknown outcome", async () => {
    const url = await serve((request) => void request.socket.destroy());
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_UNREACHABLE", "unknown");
  });

  test("a settlement whose server does not speak HTTP has an unknown outcome", async () => {
    const url = await listen(createTcpServer((socket) => void socket.once("data", () => socket.end("hello\r\n\r\n"))));
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_UNREACHABLE", "unknown");
  });

  test("a settlement whose caller gives up has an unknown outcome", async () => {
    const controller = new AbortController();
    const url = await serve(() => controller.abort());
    const { signal } = controller;
    const failure = await failureOf(createHttpFacilitator({ url }).settle(REQUEST, { signal }));
    expect(failure).toMatchObject({
      code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
      outcome: "unknown",
      message: "facilitator could not be reached for settle (AbortError)",
    });
  });
});

describe("redirects", () => {
  async function redirectTo(
    status: number,
    answer: (request: IncomingMessage & { body: string }) => [number, unknown],
  ) {
    return await serve((request, response) => {
      if (request.url?.startsWith("/moved/") === true) {
        const [code, body] = answer(request);
        response.writeHead(code).end(JSON.stringify(body));
      } else response.writeHead(status, { Location: `/moved${request.url}` }).end();
    });
  }

  test.each([307, 308])("%i is followed with the same request", async (status) => {
    const url = await redirectTo(status, ({ method, body }) => [
      200,
      { success: true, transaction: method, errorMessage: body },
    ]);
    const seen = { transaction: "POST", errorMessage: JSON.stringify(REQUEST) };
    await expect(call(url, "settle")).resolves.toMatchObject(seen);
  });

  test.each([301, 302, 303])(
    "%i is followed with GET, whose refusal says nothing about the first request",
    async (status) => {
      const url = await redirectTo(status, ({ method }) => [method === "GET" ? 404 : 500, {}]);
      const failure = await failureOf(call(url, "settle"));
      expect(failure).toMatchObject({ code: "ERR_FAREBOX_FACILITATOR_STATUS", status: 404, outcome: "unknown" });
    },
  );

  test.each<[status: number, body: object]>([
    [200, { success: true, transaction: "0x1" }],
    [200, { success: false, errorReason: "invalid_payload" }],
    [400, { success: false, errorReason: "invalid_payload" }],
  ])(
    "the target of a GET redirect did not get the payment, so its %i %j says nothing about it",
    async (status, body) => {
      const url = await redirectTo(303, () => [status, body]);
      expect(await failureOf(call(url, "settle"))).toMatchObject({ outcome: "unknown" });
    },
  );

  test("a redirect to a closed port leaves the outcome of a settlement unknown", async () => {
    const gone = createTcpServer();
    const target = await listen(gone);
    gone.close();
    await once(gone, "close");
    const url = await serve((_, response) => response.writeHead(307, { Location: target }).end());
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_UNREACHABLE", "unknown");
  });

  test.each(["ftp://example.org/", "http://a:b@127.0.0.1/", "http://["])(
    "a redirect to %j is not followed, and is an error status",
    async (location) => {
      const url = await serve((_, response) => response.writeHead(307, { Location: location }).end());
      const failure = await failureOf(call(url, "settle"));
      expect(failure).toMatchObject({ code: "ERR_FAREBOX_FACILITATOR_STATUS", status: 307, outcome: "unknown" });
    },
  );

  test.each([
    ["stay within an origin", true],
    ["do not reach another origin", false],
  ])("the seller's headers %s", async (_, isSameOrigin) => {
    const seen: unknown[] = [];
    const target = await redirectTo(307, ({ headers }) => {
      seen.push(headers.authorization, headers["x-key"], headers["content-type"]);
      return [200, { isValid: true }];
    });
    const other = await serve((_, response) => response.writeHead(307, { Location: `${target}/moved/verify` }).end());
    await call(isSameOrigin ? target : other, "verify", { headers: { authorization: "Bearer x", "x-key": "y" } });
    expect(seen).toEqual(
      isSameOrigin ? ["Bearer x", "y", "application/json"] : [undefined, undefined, "application/json"],
    );
  });

  test("a redirect loop ends with an error", async () => {
    const url = await serve((request, response) => response.writeHead(307, { Location: request.url }).end());
    await expectFailures(url, "ERR_FAREBOX_FACILITATOR_UNREACHABLE", "unknown");
  });
});
