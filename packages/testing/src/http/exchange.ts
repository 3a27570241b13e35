/**
 * One HTTP request and its whole answer. Node's own client, because it sends a path and headers as they are given.
 *
 * @module
 */
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

/** What to send. */
export interface OutgoingRequest {
  readonly method: string;
  /** Sent as it is: nothing is normalised or encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What came back. */
export interface IncomingAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** Sends a request and collects the answer. Rejects with Node's own error when there is no complete one. */
export async function exchange(origin: URL, outgoing: OutgoingRequest): Promise<IncomingAnswer> {
  const message = await send(origin, outgoing);
  const body = await readAll(message);
  const { statusCode: status = 0, headers, trailers } = message;
  return { status, headers, trailers, body };
}

/** Reads a message to its end. */
export async function readAll(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function send(origin: URL, { method, path, headers, body, signal }: OutgoingRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = origin.protocol === "https:" ? httpsRequest : httpRequest;
    // A connection of its own: a kept one would outlive the target of the call.
    const sent = request(origin, {
      method,
      path,
      headers: copy(headers),
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    sent.once("response", resolve);
    sent.on("error", reject);
    sent.end(body);
  });
}

function copy(headers: OutgoingRequest["headers"]): Record<string, string | string[]> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === "string" ? value : [...value]] as const],
  );
  return Object.fromEntries(entries);
}
