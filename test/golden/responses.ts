/**
 * How a response is written down: its status, the headers that are ours or the handler's, and its body.
 *
 * @module
 */
import type { Exchange, Received } from "./client.js";
import { digest } from "./random.js";
import { unquoted } from "./records.js";
import type { Transcript } from "./transcript.js";

/** What Node and Express add, and differs by version or moment. */
const FOREIGN: readonly string[] = ["date", "etag", "connection", "keep-alive", "transfer-encoding", "content-length"];

const EXPOSED = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN";

export function noteResponse(transcript: Transcript, lane: string, { received, hasLeft }: Exchange): void {
  const put = (text: string) => transcript.note("response", lane, transcript.written(text));
  if (received === undefined) {
    put(hasLeft ? "the client left" : "broke off");
    return;
  }
  const { status, headers, trailers, isWhole } = received;
  const written = Object.entries(headers)
    .filter(([name]) => !FOREIGN.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}: ${writtenHeader(name, String(value))}`);
  put([status, ...written].join(" | "));
  // How much it had read differs by version.
  if (hasLeft) {
    put("the client left");
    return;
  }
  put(`${isWhole ? "" : "broken off: "}${writtenBody(received)}`);
  const trailing = Object.entries(trailers).map(([name, value]) => `${name}: ${writtenHeader(name, String(value))}`);
  if (trailing.length > 0) put(`trailers ${trailing.join(" | ")}`);
}

function writtenHeader(name: string, value: string): string {
  if (name === "access-control-expose-headers" && value === EXPOSED) return "all of ours";
  if (name === "payment-required") return writtenChallenge(Buffer.from(value, "base64").toString());
  if (name === "payment-response") return Buffer.from(value, "base64").toString();
  return value;
}

function writtenChallenge(text: string): string {
  const { error, accepts = [] } = JSON.parse(text) as {
    readonly error?: string;
    readonly accepts?: readonly { readonly amount: string }[];
  };
  return `${error} (${accepts.map(({ amount }) => amount).join()}, ${digest(unquoted(text))})`;
}

function writtenBody({ status, headers, text, length, digest: whole }: Received): string {
  // Its last event may have a URL with a token.
  if (String(headers["content-type"]).startsWith("text/event-stream") && text.length === length)
    return JSON.stringify(text);
  if (headers["payment-required"] !== undefined && text.startsWith('{"x402Version"') && text.length === length)
    return writtenChallenge(text);
  const isShort = length === text.length && length <= 300;
  return isShort && (status >= 400 || text.startsWith("{")) ? JSON.stringify(text) : `${length} bytes, ${whole}`;
}
