/**
 * A node that sometimes fails: a JSON-RPC proxy in front of a chain.
 *
 * @module
 */
import { EventEmitter } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { listener } from "../listener.js";

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

interface RpcFailure {
  readonly code: number;
  readonly message: string;
}

/**
 * How to treat a call.
 *
 * - `pass`: the node responds.
 * - `lose-request`: the connection is closed before the node has the call.
 * - `lose-response`: the connection is closed after the node has the call.
 * - `silence`: the node has the call, and no response comes. Afterwards the function is called, which may move a clock.
 * - `after`: the node has the call, and the response is an error.
 * - an error, a result or an HTTP status: the node is not asked, and this is the response.
 */
export type Fate =
  | "pass"
  | "lose-request"
  | "lose-response"
  | RpcFailure
  | { readonly silence: () => void }
  | { readonly after: RpcFailure }
  | { readonly result: unknown }
  | { readonly status: number };

export interface RpcProxy {
  readonly url: string;
  /** The methods that were called, in order. */
  readonly calls: string[];
  /** Headers of the last call. */
  readonly headers: () => NodeJS.Dict<string | string[]>;
  /** Decides on each call from now on. */
  decide(fate: (call: RpcCall) => Fate): void;
  /** Resolves with the next call of a method, or with a later one, counted from it. */
  next(method: string, later?: number): Promise<RpcCall>;
  close(): Promise<void>;
}

/** Decides once about a method, and lets all other calls pass. */
export function once(method: string, fate: Fate): (call: RpcCall) => Fate {
  return times(1, method, fate);
}

/** Decides some times about a method, and lets all other calls pass. */
export function times(count: number, method: string, fate: Fate): (call: RpcCall) => Fate {
  let left = count;
  return (call) => (call.method === method && left-- > 0 ? fate : "pass");
}

export async function startRpcProxy(target: string): Promise<RpcProxy> {
  const calls: string[] = [];
  let decide: (call: RpcCall) => Fate = () => "pass";
  let headers: NodeJS.Dict<string | string[]> = {};
  const heard = new EventEmitter();
  const server = createServer(
    listener(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      const body = Buffer.concat(chunks).toString("utf8");
      const call = { params: [], ...JSON.parse(body) } as RpcCall & { readonly id: number };
      calls.push(call.method);
      headers = req.headers;
      heard.emit(call.method, call);
      await carryOut(decide(call), { res, id: call.id, forward: () => post(target, body) });
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    headers: () => headers,
    decide: (fate) => {
      decide = fate;
    },
    next: (method, later = 0) =>
      new Promise((resolve) => {
        let left = later;
        heard.on(method, function hear(call: RpcCall) {
          if (left-- > 0) return;
          heard.off(method, hear);
          resolve(call);
        });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Exchange {
  readonly res: ServerResponse;
  readonly id: number;
  forward(): Promise<string>;
}

async function carryOut(fate: Fate, { res, id, forward }: Exchange): Promise<void> {
  const reply = (status: number, json: string): void => {
    res.writeHead(status, { "content-type": "application/json" }).end(json);
  };
  const fail = (error: RpcFailure): void => reply(200, JSON.stringify({ jsonrpc: "2.0", id, error }));
  if (fate === "lose-request") return void res.destroy();
  if (typeof fate === "object" && "status" in fate) return reply(fate.status, "{}");
  if (typeof fate === "object" && "result" in fate) return reply(200, JSON.stringify({ jsonrpc: "2.0", id, ...fate }));
  if (typeof fate === "object" && "code" in fate) return fail(fate);
  const response = await forward();
  if (fate === "lose-response") return void res.destroy();
  if (typeof fate === "object" && "silence" in fate) return fate.silence();
  if (typeof fate === "object") return fail(fate.after);
  if (fate === "pass") reply(200, response);
}

async function post(url: string, body: string): Promise<string> {
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  return response.text();
}
