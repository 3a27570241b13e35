/**
 * Reads the JSON body of a request, within bounds, whether or not the app has read it before us.
 *
 * @module
 */
import type { IncomingMessage } from "node:http";
import { parseJson } from "@farebox/core";

/** A body, or what is wrong with it, in a sentence for whoever sent it. */
export type ReadBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string }
  | Gone;

/** The connection ended first: there is nobody to answer. */
interface Gone {
  readonly ok: false;
  readonly error: undefined;
}

const GONE: Gone = Object.freeze({ ok: false, error: undefined });

/** How much is read, and for how long. */
export interface BodyLimits {
  readonly bytes: number;
  readonly ms: number;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** Reads a body. Never rejects. */
export async function readBody(
  req: IncomingMessage & { readonly body?: unknown },
  limits: BodyLimits,
): Promise<ReadBody> {
  if (!JSON_TYPE.test(req.headers["content-type"] ?? "")) return bad("the content type must be application/json");
  // The app has parsed it already; Express 5 leaves `undefined` where nobody has, Express 4 nothing at all.
  if (req.readableEnded && req.body !== undefined) return { ok: true, value: req.body };
  if (req.readableEnded) return bad("the body has been read by somebody else");
  if (req.destroyed) return GONE;
  const text = await readText(req, limits);
  if (!text.ok) return text;
  const json = parseJson(text.value);
  return json.ok ? json : bad("the body is not JSON, or nested too deeply");
}

type Text = { readonly ok: true; readonly value: string } | Extract<ReadBody, { ok: false }>;

function readText(req: IncomingMessage, limits: BodyLimits): Promise<Text> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(() => finish(bad(`the body must arrive within ${limits.ms} ms`)), limits.ms);

    function take(chunk: Buffer): void {
      bytes += chunk.byteLength;
      if (bytes > limits.bytes) finish(bad(`the body must not be longer than ${limits.bytes} bytes`));
      else chunks.push(chunk);
    }
    function end(): void {
      finish({ ok: true, value: Buffer.concat(chunks).toString("utf8") });
    }
    function gone(): void {
      finish(GONE);
    }
    function finish(result: Text): void {
      clearTimeout(timer);
      req.off("data", take).off("end", end).off("error", gone).off("close", gone);
      // What still comes is let go; the error of a connection that ends meanwhile is nobody's concern.
      req.on("error", () => {}).resume();
      resolve(result);
    }
    req.on("data", take).on("end", end).on("error", gone).on("close", gone);
  });
}

function bad(error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error };
}
