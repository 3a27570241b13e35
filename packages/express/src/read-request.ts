/**
 * Reads from an Express request what the gate needs. No Express type goes past this package.
 *
 * @module
 */
import { type GateRequest, PAYMENT_SIGNATURE } from "@farebox/core";
import type { Request } from "express";

/** A name or address with an optional port, as `Host` has it; anything else is not put into a URL. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]{0,252}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Reads a request as the gate sees it. */
export function readRequest(req: Request): GateRequest {
  const query = req.originalUrl.indexOf("?");
  return {
    method: req.method,
    path: req.path,
    mountPath: req.baseUrl,
    search: query === -1 ? "" : req.originalUrl.slice(query),
    origin: readOrigin(req),
    accept: req.get("accept"),
    userAgent: req.get("user-agent"),
    paymentSignature: req.get(PAYMENT_SIGNATURE),
  };
}

/** Takes the payment off the request, so that nothing behind the gate can log it or send it on. */
export function removePayment(req: Request): void {
  const name = PAYMENT_SIGNATURE.toLowerCase();
  delete req.headers[name];
  delete req.headersDistinct[name];
  for (let at = req.rawHeaders.length - 2; at >= 0; at -= 2) {
    if (req.rawHeaders[at]?.toLowerCase() === name) req.rawHeaders.splice(at, 2);
  }
}

/** Express's own `trust proxy` rules decide what `protocol` is. */
function readOrigin(req: Request): string | undefined {
  const host = req.get("host");
  return host !== undefined && HOST.test(host) ? `${req.protocol}://${host}` : undefined;
}
