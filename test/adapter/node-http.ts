/**
 * An adapter in one file: sells what a function returns, over plain `node:http`. A body is read ahead until it ends or is too long to keep.
 * The payment settles. Then the head, what was read, and the rest of a stream go out.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Payment, RoutesConfig } from "@farebox/core";
import type { HeldAdmission, PrepaidAdmission } from "@farebox/core/adapter";
import { type GateRequest, type GateResponse, networkOf, type PaymentsEngine } from "@farebox/core/adapter";

export interface Reply {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: number | string | readonly string[]])[];
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** @param payment - `undefined`: there is nothing to pay. */
export type Handler = (req: IncomingMessage, body: Buffer, payment?: Payment) => Promise<Reply>;

/** Creates the listener of a server that sells the routes of a table. */
export function sell(engine: PaymentsEngine, routes: RoutesConfig, handler: Handler): RequestListener {
  const table = engine.routes(routes);
  return async (req, res) => {
    const body = Buffer.concat(await req.toArray());
    const run = (payment?: Payment) =>
      handler(req, body, payment).catch((): Reply => ({ status: 500, headers: [], body: [] }));
    const decision = await table.decide(toRequest(req, body));
    if (decision.kind === "pass") return send(res, await run());
    if (decision.kind === "run") {
      const { admission } = decision;
      return admission.isHeld ? hold(res, admission, engine.holdBytes, run) : sendPaid(res, admission, run);
    }
    whenClosed(res, (isDelivered) => decision.onClosed?.(isDelivered));
    return send(res, toReply(decision.response));
  };
}

function toRequest(req: IncomingMessage, body: Buffer): GateRequest {
  const { pathname, search, origin } = new URL(req.url ?? "/", `http://${req.headers.host ?? "localhost"}`);
  const header = (name: string) => req.headers[name.toLowerCase()]?.toString();
  const digest = body.length === 0 ? "" : createHash("sha256").update(body).digest("base64url");
  return {
    ...{ method: req.method ?? "GET", path: pathname, mountPath: "", search, origin, header, native: req },
    ...{ accept: header("Accept"), userAgent: header("User-Agent"), client: networkOf(req.socket.remoteAddress) },
    ...{ paymentSignature: header("PAYMENT-SIGNATURE"), retryToken: header("PAYMENT-RETRY-TOKEN") },
    ...{ hasBody: body.length > 0, body, digestBody: () => digest },
  };
}

type Run = (payment: Payment) => Promise<Reply>;

/** Runs the handler, holds its response until the payment has settled, and sends it, or what is to be sent in its place. */
async function hold(res: ServerResponse, admission: HeldAdmission, holdBytes: number, run: Run): Promise<void> {
  let state = "running";
  let held = { status: 500, headers: [] as [string, string][], body: undefined as Buffer | undefined };
  admission.onExpired(async (instead) => {
    state = "over";
    await send(res, toReply(await instead));
  });
  whenClosed(res, (isDelivered) => {
    if (!isDelivered) admission.leave();
    if (state === "paid") void (isDelivered ? admission.done() : admission.undelivered(held));
    if (state === "running") void admission.cancel();
    if (state === "running") state = "over";
  });
  const { status, headers, body } = await run(admission.payment);
  const rest = Readable.from(body)[Symbol.asyncIterator]();
  const start: Uint8Array[] = [];
  let [size, isWhole] = [0, false];
  while (!isWhole && size <= holdBytes) {
    const { done, value } = await rest.next();
    isWhole = done === true;
    if (!isWhole) size += start[start.push(value) - 1]?.byteLength ?? 0;
  }
  admission.handlerEnded();
  if (state !== "running") return;
  state = "settling";
  const texts = headers.map(([name, value]): [string, string] => [name, String(value)]);
  held = { status, headers: texts, body: isWhole ? Buffer.concat(start) : undefined };
  const release = await admission.complete(held);
  if (release.kind === "replace") return send(res, toReply(release.response));
  if (release.paid) state = "paid";
  if (release.paid && res.destroyed) return admission.unreleased(held);
  const kept = release.paid ? [...headers, PRIVATE] : release.kept;
  return send(res, { status, headers: [...kept, ...release.headers], body: joined(start, rest) });
}

/** The money has moved: the response goes out as it is written. */
async function sendPaid(res: ServerResponse, admission: PrepaidAdmission, run: Run): Promise<void> {
  whenClosed(res, (isDelivered) => void (isDelivered || admission.leave()));
  whenClosed(res, () => admission.done());
  const reply = await run(admission.payment);
  if (reply.status >= 400) await admission.fail(reply.status);
  const proof = reply.status >= 500 ? admission.failureHeaders : [];
  return send(res, { ...reply, headers: [...reply.headers, ...admission.headers, ...proof, PRIVATE] });
}

const PRIVATE = ["Cache-Control", "private"] as const;

async function* joined(start: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  yield* start;
  yield* rest;
}

const toReply = (response: GateResponse): Reply => ({ ...response, body: [Buffer.from(response.body)] });

function whenClosed(res: ServerResponse, act: (isDelivered: boolean) => void): void {
  res.once("close", () => act(res.writableFinished));
}

async function send(res: ServerResponse, { status, headers, body }: Reply): Promise<void> {
  for (const [name, value] of headers) res.setHeader(name, value);
  res.writeHead(status);
  for await (const chunk of body) res.write(chunk);
  res.end();
}
