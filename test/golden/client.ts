/**
 * Clients whose connections are kept for the next request, unless they leave.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { type Agent, type IncomingHttpHeaders, request as open } from "node:http";
import type { Duplex } from "node:stream";

/** What is sent. */
export interface Sending {
  readonly port: number;
  readonly agent: Agent;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The client's own address. */
  readonly from: string;
  readonly leavesInTheMiddle: boolean;
}

/** What was received. */
export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: Readonly<Record<string, string | undefined>>;
  /** The first 4,000 bytes. */
  readonly text: string;
  readonly length: number;
  readonly digest: string;
  readonly isWhole: boolean;
}

/** A request under way. */
export interface Exchange {
  isOver: boolean;
  /** Whether the client has left by itself. */
  hasLeft: boolean;
  received: Received | undefined;
  leave(): void;
  halfClose(): void;
}

const KEPT = 4_000;

export function send({ port, agent, method, path, headers, body, from, leavesInTheMiddle }: Sending): Exchange {
  const length =
    method === "POST" ? { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) } : {};
  const sent = open({
    host: "127.0.0.1",
    port,
    path,
    localAddress: from,
    method,
    agent,
    headers: { host: "shop.example", ...headers, ...length },
  });
  let socket: Duplex | undefined;
  const exchange: Exchange = {
    isOver: false,
    hasLeft: false,
    received: undefined,
    leave() {
      exchange.hasLeft = true;
      sent.destroy();
      socket?.destroy();
    },
    halfClose: () => void socket?.end(),
  };
  sent.once("socket", (used) => {
    socket = used;
  });
  sent.on("error", () => {});
  sent.once("close", () => {
    exchange.isOver = true;
  });
  sent.once("response", (message) => {
    const hash = createHash("sha256");
    let [text, size] = ["", 0];
    const note = (isWhole: boolean) => {
      exchange.received = {
        status: message.statusCode ?? 0,
        headers: message.headers,
        trailers: message.trailers,
        text,
        length: size,
        digest: hash.copy().digest("base64url").slice(0, 8),
        isWhole,
      };
    };
    note(false);
    message.on("data", (chunk: Buffer) => {
      if (exchange.hasLeft) return;
      if (text.length < KEPT) text += chunk.toString("latin1").slice(0, KEPT - text.length);
      size += chunk.byteLength;
      hash.update(chunk);
      note(false);
      if (leavesInTheMiddle) {
        message.pause();
        exchange.leave();
      }
    });
    message.once("end", () => {
      note(message.complete);
      // When the request closes after that differs by version.
      exchange.isOver ||= message.complete;
    });
    message.once("error", () => {});
    message.once("close", () => {
      exchange.isOver = true;
    });
  });
  if (method === "POST") sent.end(body);
  else sent.end();
  return exchange;
}
