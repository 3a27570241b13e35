/** Requests by GET, for nodes with a REST interface. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { RpcError, type RpcProblem } from "../errors.js";
import { closeServers, listen, serve } from "../facilitator/http-server.fixture.js";
import { createRpcNode } from "./rpc-node.js";

afterEach(() => {
  vi.useRealTimers();
  closeServers();
});

const DEADLINE_MS = 5_000;
/** Lets the deadline pass, after a request has arrived. */
const passDeadline = () => void vi.advanceTimersByTime(DEADLINE_MS);

const SECRET = "hunter2";
const PATH = "/v2/transactions/pending/TXID";

/** A node with one response to all requests, which keeps the requests. */
async function startNode(reply: (response: ServerResponse) => void, own = `/v1/${SECRET}?key=${SECRET}`) {
  const asked: string[] = [];
  const origin = await serve((request, response) => {
    const { accept, "content-type": type, "x-algo-api-token": token } = request.headers;
    asked.push([request.method, request.url, accept, type, token, request.body].join(" ").trimEnd());
    reply(response);
  });
  return { url: `${origin}${own}`, asked };
}

/** Expects an error that names the problem, and quotes neither URL, query nor node. */
async function expectProblem(question: Promise<unknown>, problem: RpcProblem): Promise<RpcError> {
  const error = await question.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RpcError)) throw new TypeError(`not an RpcError: ${String(error)}`);
  expect(error).toMatchObject({ code: "ERR_FAREBOX_RPC", problem });
  expect(error.message).toContain(PATH);
  expect(error.message).not.toContain("format");
  expect(error.cause).toBeUndefined();
  expect(`${error.stack} ${JSON.stringify(error)}`).not.toMatch(new RegExp(`${SECRET}|127\\.0\\.0\\.1`));
  return error;
}

describe("a path", () => {
  test.each<[own: string, path: string, url: string, why: string]>([
    ["", "/v2/status", "/v2/status", "a bare origin"],
    ["/", "/v2/status", "/v2/status", "one slash, not two"],
    ["/v1/key", "/v2/status", "/v1/key/v2/status", "a key in the path comes first"],
    ["/v1/key/", "/v2/status", "/v1/key/v2/status", "a key in the path with a trailing slash"],
    ["?key=a%2Fb+c", "/v2/status", "/v2/status?key=a%2Fb+c", "a key in the query is sent unchanged"],
    ["/x?key=1", "/v2/status?format=json", "/x/v2/status?key=1&format=json", "the URL's query comes first"],
    ["/x?", "/v2/status?format=json", "/x/v2/status?format=json", "an empty query adds nothing"],
    ["/%7Euser", "/a%2Fb?c=%3F?d", "/%7Euser/a%2Fb?c=%3F?d", "escapes stay as written"],
  ])("get with the base %j and the path %s requests %s (%s)", async (own, path, url) => {
    const node = await startNode((response) => response.end("1"), own);
    expect(await createRpcNode(node.url).get(path)).toBe(1);
    expect(node.asked).toEqual([`GET ${url} application/json`]);
  });
});

test("a seller's headers are sent with every request, and replace ours", async () => {
  const node = await startNode((response) => response.end('{"jsonrpc":"2.0","id":1,"result":1}'), "");
  const headers = { "X-Algo-API-Token": SECRET, Accept: "text/json" };
  const rpc = createRpcNode(node.url, { headers });
  await rpc.get("/v2/status");
  await rpc.call("m", []);
  expect(node.asked).toEqual([
    `GET /v2/status text/json  ${SECRET}`,
    `POST / text/json application/json ${SECRET} {"jsonrpc":"2.0","id":1,"method":"m","params":[]}`,
  ]);
});

test("createRpcNode throws for headers that cannot be sent, without quoting them", () => {
  const create = () => createRpcNode("http://localhost", { headers: { authorization: `${SECRET}\nb` } });
  expect(create).toThrow("headers: expected header names with string values");
  expect(create).not.toThrow(SECRET);
});

test.each<[value: unknown]>([[{ a: { b: [1] } }], [[]], ["text"], [0], [false], [null]])(
  "get resolves with any JSON: %j",
  async (value) => {
    const { url } = await startNode((response) => response.end(JSON.stringify(value)));
    expect(await createRpcNode(url).get(PATH)).toEqual(value);
  },
);

describe("a failed request", () => {
  const HTML = `<html>${SECRET}</html>`;
  test.each<[problem: RpcProblem, reply: (response: ServerResponse) => void, why: string]>([
    ["unreadable", (response) => response.end(HTML), "HTML"],
    ["unreadable", (response) => response.end(), "an empty body"],
    ["unreadable", (response) => response.end('{"a":'), "truncated JSON"],
    ["unreadable", (response) => response.end("[".repeat(100_000)), "nested too deeply"],
    [
      "unreadable",
      (response) => response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy()),
      "a truncated body",
    ],
    ["too_large", (response) => response.end(`"${" ".repeat(1024 * 1024)}"`), "a body that is too long"],
    ["unreachable", (response) => void response.destroy(), "a connection that breaks off"],
    ["timeout", passDeadline, "no response"],
    ["timeout", (response) => void response.writeHead(200).write("{", passDeadline), "a body that never ends"],
  ])("rejects with %s and quotes nothing: %j %s", async (problem, reply) => {
    const { url, asked } = await startNode(reply);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await expectProblem(createRpcNode(url, { deadlineMs: DEADLINE_MS }).get(`${PATH}?format=json`), problem);
    expect(asked).toHaveLength(1);
  });

  test.each([400, 401, 404, 429, 500, 503])("rejects on status %i, and names it", async (status) => {
    const { url } = await startNode((response) => response.writeHead(status).end(HTML));
    const error = await expectProblem(createRpcNode(url).get(`${PATH}?format=json`), "status");
    expect(error.status).toBe(status);
    expect(error.message).toBe(`node responded to ${PATH} with status ${status}`);
  });

  test("rejects with unreachable for a closed port", async () => {
    const server = createTcpServer();
    const url = await listen(server);
    server.close();
    await once(server, "close");
    await expectProblem(createRpcNode(`${url}/${SECRET}`).get(PATH), "unreachable");
  });

  test("does not follow a redirect", async () => {
    const elsewhere = await startNode((response) => response.end("1"));
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await startNode((response) => response.writeHead(status, { location: elsewhere.url }).end());
      await expectProblem(createRpcNode(url).get(PATH), "status");
    }
    expect(elsewhere.asked).toEqual([]);
  });
});

describe("a caller who gives up", () => {
  test("sends nothing when the caller gave up before", async () => {
    const { url, asked } = await startNode((response) => response.end("1"));
    await expectProblem(createRpcNode(url).get(PATH, { signal: AbortSignal.abort(SECRET) }), "given_up");
    expect(asked).toEqual([]);
  });

  test("does not wait for the rest of the response after the caller gives up", async () => {
    const controller = new AbortController();
    const { url } = await startNode((response) => {
      response.writeHead(200).write("{", () => controller.abort(SECRET));
    });
    await expectProblem(createRpcNode(url).get(PATH, { signal: controller.signal }), "given_up");
  });
});
