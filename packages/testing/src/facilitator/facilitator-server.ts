/**
 * A facilitator behind HTTP, with faults in between: what a seller's client talks to in a test.
 *
 * The faults lie in a server of their own, before the one that has the facilitator: so the facilitator's side is never
 * disturbed, and knows nothing of what became of its answer.
 *
 * @module
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { Facilitator } from "@farebox/core";
import { facilitatorRouter } from "@farebox/facilitator";
import express from "express";
import { createFaultPlan, type Faults, type Operation } from "../faults/faults.js";
import { type Reply, writeReply } from "../faults/faulty-reply.js";
import { exchange, type IncomingAnswer, readAll } from "../http/exchange.js";
import { listen } from "../http/listening.js";

/** What to serve, and where. */
export interface FacilitatorServerOptions {
  readonly facilitator: Facilitator;
  /** Port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
}

/** A request as it arrived, before any fault. */
export interface ReceivedRequest {
  /** `undefined` when it is none of the three calls. */
  readonly operation: Operation | undefined;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** As JSON; the text when it is not JSON, `undefined` when it is empty. */
  readonly body: unknown;
}

/** A running facilitator server. */
export interface FacilitatorServer {
  /** Base URL, without a slash at the end. */
  readonly url: string;
  readonly faults: Faults;
  /** Everything that arrived, oldest first. */
  readonly requests: readonly ReceivedRequest[];
  /** Ends the server and its connections; held calls are lost. */
  close(): Promise<void>;
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  "POST /verify": "verify",
  "POST /settle": "settle",
  "GET /supported": "supported",
};

/** Serves a facilitator on 127.0.0.1. Rejects with Node's own error when the port is busy. */
export async function startFacilitatorServer(options: FacilitatorServerOptions): Promise<FacilitatorServer> {
  const plan = createFaultPlan();
  const requests: ReceivedRequest[] = [];
  const inner = await listen(createServer(express().use(facilitatorRouter(options.facilitator))), 0);
  const server = createServer((req, res) => {
    receive(req)
      .then(({ received, body }) => {
        requests.push(received);
        const strike = received.operation === undefined ? undefined : plan.take(received.operation);
        const { method, path, headers } = received;
        const forward = async (): Promise<Reply> =>
          toReply(await exchange(inner.origin, { method, path, headers, body }));
        return writeReply(res, { forward, strike });
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

/** Without what is true of the inner connection only. */
function toReply({ status, headers, body }: IncomingAnswer): Reply {
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
