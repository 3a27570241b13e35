/**
 * One HTTP request and its whole response. Uses Node's client, because it sends the path and headers unchanged.
 *
 * @module
 */
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

/** A request. */
export interface OutgoingRequest {
  readonly method: string;
  /** Sent unchanged, without normalisation or encoding. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A response. */
export interface IncomingResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** Sends a request and reads the response. Rejects with Node's error when the response is not complete. */
export async function exchange(origin: URL, outgoing: OutgoingRequest): Promise<IncomingResponse> {
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
    // A new connection, because a kept one would outlive the target of the call.
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
