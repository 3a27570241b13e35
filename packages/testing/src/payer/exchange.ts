/**
 * One HTTP request and its whole answer. Node's own client, because it sends a path and headers as they are given.
 *
 * @module
 */
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { PayerError } from "./payer-error.js";

/** What to send. */
export interface OutgoingRequest {
  readonly method: string;
  /** Sent as it is: nothing is normalised or encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/**
 * Sends a request and collects the answer.
 *
 * @throws {@link PayerError} when there is no connection, it breaks off, or the path or a header cannot be sent
 */
export async function exchange(origin: URL, outgoing: OutgoingRequest): Promise<Answer> {
  try {
    const message = await send(origin, outgoing);
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(Buffer.from(chunk));
    const { statusCode: status = 0, headers, trailers } = message;
    return { status, headers, trailers, body: Buffer.concat(chunks) };
  } catch (error) {
    throw new PayerError(`no complete answer to ${outgoing.method} ${outgoing.path}`, { cause: error });
  }
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
    sent.once("error", reject);
    sent.end(body);
  });
}

function copy(headers: OutgoingRequest["headers"]): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]]),
  );
}
