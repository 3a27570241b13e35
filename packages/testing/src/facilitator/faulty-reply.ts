/**
 * Faults over HTTP: the client gets a reset connection, another response, or a late one.
 *
 * @module
 */
import type { ServerResponse } from "node:http";
import { type ActiveFault, type ResponseBody, runUntilFault } from "./faults.js";

/** A whole HTTP response. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The source of a reply: the facilitator, and the fault that affects the call, if any. */
export interface ReplySource {
  forward(): Promise<Reply>;
  readonly fault: ActiveFault | undefined;
}

const JSON_TYPE = { "content-type": "application/json" };
const HALF_A_DOCUMENT = '{"isValid":true,"success":true,"transac';

/** Writes the reply as the fault allows. Rejects when the facilitator cannot be reached. */
export async function writeReply(res: ServerResponse, { forward, fault: active }: ReplySource): Promise<void> {
  if (active === undefined) return write(res, await forward());
  const { fault, released } = active;
  const reply = await runUntilFault(active, forward);
  switch (fault.kind) {
    case "hold":
      await released;
      return write(res, reply ?? (await forward()));
    case "drop":
      res.socket?.resetAndDestroy();
      return;
    case "status":
      return write(res, { status: fault.status, headers: fault.headers ?? {}, body: Buffer.from(fault.body ?? "") });
    case "garbage":
      return write(res, { status: 200, headers: JSON_TYPE, body: Buffer.from(HALF_A_DOCUMENT) });
    case "empty":
      return write(res, { status: 200, headers: {}, body: Buffer.alloc(0) });
    case "duplicate":
      return write(res, reply ?? (await forward()));
    case "slow-body":
      return writeSlowly(res, reply ?? (await forward()), released);
    case "rewrite":
      return write(res, rewritten(reply ?? (await forward()), fault.rewrite));
    default:
      fault satisfies never;
  }
}

function write(res: ServerResponse, reply: Reply): void {
  res.writeHead(reply.status, headersOf(reply)).end(reply.body);
}

async function writeSlowly(res: ServerResponse, reply: Reply, released: Promise<void>): Promise<void> {
  res.writeHead(reply.status, headersOf(reply));
  res.write(reply.body.subarray(0, 1));
  await released;
  res.end(reply.body.subarray(1));
}

function rewritten(reply: Reply, rewrite: (body: ResponseBody) => unknown): Reply {
  const body: unknown = JSON.parse(reply.body.toString("utf8"));
  const fields = typeof body === "object" && body !== null ? { ...body } : {};
  return { ...reply, body: Buffer.from(JSON.stringify(rewrite(fields)) ?? "") };
}

function headersOf({ headers, body }: Reply): Record<string, string | string[]> {
  const entries = Object.entries({ ...headers, "content-length": String(body.byteLength) });
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
