import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ConfigError, RpcError, type RpcProblem } from "../errors.js";
import { closeServers, listen, serve } from "../facilitator/http-server.fixture.js";
import { createRpcNode, parseRpcUrl } from "./rpc-node.js";

afterEach(() => {
  vi.useRealTimers();
  closeServers();
});

const DEADLINE_MS = 5_000;
/** Lets the deadline pass, after a request has arrived. */
const passDeadline = () => void vi.advanceTimersByTime(DEADLINE_MS);

const SECRET = "hunter2";

/** A node with one response to all requests, which keeps the requests. */
async function startNode(reply: (response: ServerResponse, question: { readonly id: number }) => void) {
  const asked: { readonly body: unknown; readonly method: string | undefined; readonly type: string | undefined }[] =
    [];
  const url = await serve((request, response) => {
    const body = JSON.parse(request.body);
    asked.push({ body, method: request.method, type: request.headers["content-type"] });
    reply(response, body);
  });
  return { url: `${url}/v1/${SECRET}?key=${SECRET}`, asked };
}

function responding(resultOf: (id: number) => unknown) {
  return startNode((response, { id }) => response.end(JSON.stringify(resultOf(id))));
}

async function errorOf(call: Promise<unknown>): Promise<RpcError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RpcError)) throw new TypeError(`not a RpcError: ${String(error)}`);
  return error;
}

/** Expects an error that names the problem, and quotes no secret. */
async function expectProblem(call: Promise<unknown>, problem: RpcProblem): Promise<RpcError> {
  const error = await errorOf(call);
  expect(error).toMatchObject({ code: "ERR_FAREBOX_RPC", problem });
  expect(error.message).toContain("eth_call");
  expect(error.cause).toBeUndefined();
  expect(`${error.stack} ${JSON.stringify(error)}`).not.toMatch(new RegExp(`${SECRET}|127\\.0\\.0\\.1`));
  return error;
}

describe("a response", () => {
  test.each<[result: unknown]>([["0x1"], [null], [false], [[]], [{ a: { b: [1] } }]])(
    "resolves with its result %j",
    async (result) => {
      const { url } = await responding((id) => ({ jsonrpc: "2.0", id, result }));
      expect(await createRpcNode(url).call("eth_call", [])).toEqual(result);
    },
  );

  test("may have an error of null beside its result", async () => {
    const { url } = await responding((id) => ({ jsonrpc: "2.0", id, result: 1, error: null }));
    expect(await createRpcNode(new URL(url)).call("eth_call", [])).toBe(1);
  });

  test("is requested by POST in JSON, each time with a new id", async () => {
    const { url, asked } = await responding((id) => ({ jsonrpc: "2.0", id, result: id }));
    const rpc = createRpcNode(url);
    expect(await Promise.all([rpc.call("eth_call", [1, "a"]), rpc.call("eth_chainId", [])])).toEqual([1, 2]);
    expect(asked).toHaveLength(2);
    expect(asked).toContainEqual({
      body: { jsonrpc: "2.0", id: 1, method: "eth_call", params: [1, "a"] },
      method: "POST",
      type: "application/json",
    });
  });
});

describe("a failed request", () => {
  const HTML = `<html>${SECRET}</html>`;
  const CASES: readonly [problem: RpcProblem, reply: (response: ServerResponse, id: number) => void, why: string][] = [
    ["unreadable", (response) => response.end(HTML), "HTML"],
    ["unreadable", (response) => response.end(), "an empty body"],
    ["unreadable", (response) => response.end(`"${SECRET}"`), "a string"],
    ["unreadable", (response) => response.end("null"), "null"],
    ["unreadable", (response, id) => response.end(`[{"jsonrpc":"2.0","id":${id},"result":1}]`), "a batch"],
    ["unreadable", (response, id) => response.end(`{"jsonrpc":"2.0","id":${id}`), "truncated JSON"],
    ["unreadable", (response, id) => response.end(`{"jsonrpc":"2.0","id":${id}}`), "no result"],
    ["unreadable", (response, id) => response.end(`{"id":${id},"result":1}`), "another protocol"],
    [
      "unreadable",
      (response, id) => response.end(`{"jsonrpc":"2.0","id":${id + 1},"result":1}`),
      "the id of another request",
    ],
    ["unreadable", (response) => response.end('{"jsonrpc":"2.0","id":null,"result":1}'), "an id of null"],
    ["unreadable", (response) => response.end("[".repeat(100_000)), "nested too deeply"],
    [
      "unreadable",
      (response) => response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy()),
      "a truncated body",
    ],
    ["too_large", (response) => response.end(`"${" ".repeat(1024 * 1024)}"`), "a body that is too long"],
    [
      "refused",
      (response, id) => response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_000, message: SECRET } })),
      "an error",
    ],
    [
      "refused",
      (response, id) => response.end(JSON.stringify({ jsonrpc: "2.0", id, error: SECRET })),
      "an error that is not an object",
    ],
    [
      "refused",
      (response, id) => response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: SECRET }, result: 1 })),
      "an error beside a result",
    ],
    ["unreachable", (response) => void response.destroy(), "a connection that breaks off"],
    ["timeout", passDeadline, "no response"],
    ["timeout", (response) => void response.writeHead(200).write("{", passDeadline), "a body that never ends"],
  ];

  test.each(CASES)("rejects with %s and quotes nothing: %j %s", async (problem, reply) => {
    const { url, asked } = await startNode((response, { id }) => reply(response, id));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await expectProblem(createRpcNode(url, { deadlineMs: DEADLINE_MS }).call("eth_call", []), problem);
    expect(asked).toHaveLength(1);
  });

  test.each([400, 401, 404, 413, 429, 500, 503])("rejects on status %i, and names it", async (status) => {
    const { url } = await startNode((response) => response.writeHead(status).end(HTML));
    const error = await expectProblem(createRpcNode(url).call("eth_call", []), "status");
    expect(error.status).toBe(status);
    expect(error.message).toBe(`node responded to eth_call with status ${status}`);
  });

  test("rejects with status when a body of status 500 breaks off", async () => {
    const { url } = await startNode((response) =>
      response.writeHead(500, { "content-length": 99 }).write("{", () => response.destroy()),
    );
    await expectProblem(createRpcNode(url).call("eth_call", []), "status");
  });

  test("rejects at the limit without reading the rest of an endless response", async () => {
    const { url } = await startNode((response) => {
      // Node 26 calls back before the bytes have gone anywhere.
      const more = () => void response.write("x".repeat(65_536), () => response.destroyed || setImmediate(more));
      more();
    });
    await expectProblem(createRpcNode(url).call("eth_call", []), "too_large");
  });

  test("rejects with unreachable for a closed port", async () => {
    const server = createTcpServer();
    const url = await listen(server);
    server.close();
    await once(server, "close");
    const error = await expectProblem(createRpcNode(`${url}/${SECRET}`).call("eth_call", []), "unreachable");
    expect(error.message).toBe("node could not be reached for eth_call (ECONNREFUSED)");
  });

  test("does not follow a redirect", async () => {
    const elsewhere = await responding((id) => ({ jsonrpc: "2.0", id, result: 1 }));
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await startNode((response) => response.writeHead(status, { location: elsewhere.url }).end());
      await expectProblem(createRpcNode(url).call("eth_call", []), "status");
    }
    expect(elsewhere.asked).toEqual([]);
  });
});

describe("a caller who gives up", () => {
  test("sends nothing when the caller gave up before", async () => {
    const { url, asked } = await responding((id) => ({ jsonrpc: "2.0", id, result: 1 }));
    await expectProblem(createRpcNode(url).call("eth_call", [], { signal: AbortSignal.abort(SECRET) }), "given_up");
    expect(asked).toEqual([]);
  });

  test.each([false, true])(
    "does not wait for the response after the caller gives up (head received: %s)",
    async (hasHead) => {
      const controller = new AbortController();
      const { url } = await startNode((response) => {
        if (hasHead) response.writeHead(200).write("{", () => controller.abort(SECRET));
        else controller.abort(SECRET);
      });
      await expectProblem(createRpcNode(url).call("eth_call", [], { signal: controller.signal }), "given_up");
    },
  );
});

describe("parseRpcUrl", () => {
  test.each<[given: unknown, url: string, why: string]>([
    ["https://node.example/v3/abc", "https://node.example/v3/abc", "a key in the path"],
    ["https://node.example/?key=abc", "https://node.example/?key=abc", "a key in the query"],
    ["http://localhost:8545", "http://localhost:8545/", "a node on this machine"],
    [new URL("https://node.example"), "https://node.example/", "a URL object"],
  ])("reads %s: %s", (given, url) => {
    expect(parseRpcUrl(given)).toBe(url);
  });

  test.each<[given: unknown, why: string]>([
    ["", "empty"],
    ["node.example", "no scheme"],
    ["wss://node.example", "not HTTP"],
    ["file:///etc/passwd", "not HTTP"],
    ["https://key:secret@node.example", "it has credentials"],
    ["https://key@node.example", "it has credentials"],
    ["https://node.example/#key", "a fragment is not sent"],
    [undefined, "an empty body"],
    [8545, "a port"],
    [{ href: "https://node.example" }, "an object that looks like a URL"],
  ])("refuses %s: %s", (given) => {
    expect(parseRpcUrl(given)).toBeUndefined();
  });

  test("never throws, and reads its own results", () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.webUrl({ withQueryParameters: true, withFragments: true })), (given) => {
        const url = parseRpcUrl(given);
        if (url !== undefined) expect(parseRpcUrl(url)).toBe(url);
      }),
      { numRuns: 50 },
    );
  });
});

describe("createRpcNode", () => {
  test("refuses a URL without quoting it", () => {
    expect(() => createRpcNode(`https://key:${SECRET}@node.example`)).toThrow(ConfigError);
    expect(() => createRpcNode(`https://key:${SECRET}@node.example`)).not.toThrow(SECRET);
  });

  test.each([0, -1, 0.5, Number.NaN, 120_001, "5000"])("refuses a deadline of %s", (deadlineMs) => {
    expect(() => createRpcNode("https://node.example", { deadlineMs: deadlineMs as number })).toThrow(/^deadlineMs:/);
  });
});
