/**
 * A facilitator behind HTTP, with faults in between, for the HTTP client of a seller.
 *
 * The faults are in a server of their own, in front of the server of the facilitator. So a fault never disturbs the facilitator,
 * which does not know whether its response arrived.
 *
 * @module
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { Facilitator } from "@farebox/core";
import { facilitatorRouter } from "@farebox/facilitator";
import express from "express";
import { exchange, type IncomingResponse, readAll } from "../http/exchange.js";
import { listen } from "../http/listening.js";
import { createFaultPlan, type Faults, type Operation } from "./faults.js";
import { type Reply, writeReply } from "./faulty-reply.js";

/** Options of `startFacilitatorServer`. */
export interface FacilitatorServerOptions {
  readonly facilitator: Facilitator;
  /** Port on 127.0.0.1. Default 0: a free port. */
  readonly port?: number;
}

/** A received request, before any fault. */
export interface ReceivedRequest {
  /** `undefined` for any other request. */
  readonly operation: Operation | undefined;
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON, or the text if it is not JSON; `undefined` when it is empty. */
  readonly body: unknown;
}

/** A running facilitator server. */
export interface FacilitatorServer {
  /** Base URL, without a trailing slash. */
  readonly url: string;
  readonly faults: Faults;
  /** All received requests, oldest first. */
  readonly requests: readonly ReceivedRequest[];
  /** Closes the server and its connections. Held calls are lost. */
  close(): Promise<void>;
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  "POST /verify": "verify",
  "POST /settle": "settle",
  "GET /supported": "supported",
};

/** Serves a facilitator on 127.0.0.1. Rejects with Node's error when the port is busy. */
export async function startFacilitatorServer(options: FacilitatorServerOptions): Promise<FacilitatorServer> {
  const plan = createFaultPlan();
  const requests: ReceivedRequest[] = [];
  const inner = await listen(createServer(express().use(facilitatorRouter(options.facilitator, { open: true }))), 0);
  const server = createServer((req, res) => {
    receive(req)
      .then(({ received, body }) => {
        requests.push(received);
        const fault = received.operation === undefined ? undefined : plan.take(received.operation);
        const { method, path, headers } = received;
        const forward = async (): Promise<Reply> =>
          toReply(await exchange(inner.origin, { method, path, headers, body }));
        return writeReply(res, { forward, fault });
      })
      .catch(() => res.destroy());
  });
  const outer = await listen(server, options.port ?? 0).catch(async (error: unknown) => {
    await inner.close();
    throw error;
  });
  return {
    url: outer.origin.origin,
    faults: plan.faults,
    requests,
    close: async () => {
      await outer.close();
      plan.faults.clear();
      await inner.close();
    },
  };
}

async function receive(req: IncomingMessage): Promise<{ readonly received: ReceivedRequest; readonly body: Buffer }> {
  const body = await readAll(req);
  const { method = "GET", url: path = "/", headers } = req;
  const operation = OPERATIONS[`${method} ${path.split("?", 1)[0]}`];
  return { received: { operation, method, path, headers, body: readBody(body.toString("utf8")) }, body };
}

/** Removes the headers of the inner connection. */
function toReply({ status, headers, body }: IncomingResponse): Reply {
  const { connection: _connection, "keep-alive": _keepAlive, "transfer-encoding": _encoding, ...rest } = headers;
  return { status, headers: rest, body };
}

function readBody(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
