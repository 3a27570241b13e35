/**
 * Sellers of any make on this machine: their challenge is written by hand, so that each can be wrong in one way.
 *
 * @module
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

/** Nothing listens there: the port is given to no process that asks for any. */
export const NOBODY = "http://127.0.0.1:2";

export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
export const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

/** An offer in order: a tenth of a cent on Base Sepolia. */
export const OFFER = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "1000",
  asset: USDC,
  payTo: PAY_TO,
  maxTimeoutSeconds: 300,
  extra: { name: "USDC", version: "2" },
};

/** What of a seller is wrong. */
export interface Wrong {
  readonly offer?: Readonly<Record<string, unknown>>;
  /** Replaces all offers. */
  readonly accepts?: unknown;
  readonly document?: Readonly<Record<string, unknown>>;
  /** Replaces the encoded document. */
  readonly header?: string;
  /** Headers of the 402; `undefined` removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly preflight?: Readonly<Record<string, string>>;
  /** Responds first, where it returns `true`. */
  readonly instead?: (req: IncomingMessage, res: ServerResponse) => boolean;
}

const EXPOSED = "PAYMENT-REQUIRED, PAYMENT-RESPONSE";
const ALLOWED = "PAYMENT-SIGNATURE, Access-Control-Expose-Headers";

/** A seller of `GET /weather` that is in order but for what is wrong. */
export function seller(wrong: Wrong = {}): RequestListener {
  return (req, res) => {
    if (wrong.instead?.(req, res) === true) return;
    res.setHeader("access-control-allow-origin", "*");
    if (req.method === "OPTIONS") {
      const headers = { "access-control-allow-headers": ALLOWED, ...wrong.preflight };
      res.writeHead(204, headers).end();
      return;
    }
    if (req.url?.split("?")[0] !== "/weather") {
      res.writeHead(404).end();
      return;
    }
    const document = {
      x402Version: 2,
      error: "Payment required",
      resource: { url: `http://${req.headers.host}${req.url}`, description: "", mimeType: "" },
      accepts: wrong.accepts ?? [{ ...OFFER, ...wrong.offer }],
      ...wrong.document,
    };
    const headers = {
      "payment-required": wrong.header ?? Buffer.from(JSON.stringify(document)).toString("base64"),
      "cache-control": "no-store",
      "access-control-expose-headers": EXPOSED,
      ...wrong.headers,
    };
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value);
    res.writeHead(402).end("{}");
  };
}

/** Starts a server until the test ends. Returns its origin. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer({ maxHeaderSize: 65_536 }, listener).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  onTestFinished(async () => {
    server.closeAllConnections();
    await promisify(server.close.bind(server))();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What `--json` prints. */
export interface Diagnosed {
  readonly ok: boolean;
  readonly errors: number;
  readonly warnings: number;
  readonly routes: readonly { readonly route: string }[];
  readonly diagnoses: readonly {
    readonly code: string;
    readonly level: string;
    readonly subject: string;
    readonly message: string;
    readonly remedy: string;
    readonly page: string;
  }[];
}
