/**
 * A facilitator behind HTTP: `POST /verify`, `POST /settle`, `GET /supported` and `GET /health`. A facilitator with a catalog
 * also serves `GET /discovery/resources`, `GET /discovery/search`, and a page for people at `GET /`.
 *
 * @see x402 v2 §7, §8
 * @module
 */
import type { Facilitator, FacilitatorRequest, SettlementResponse, VerifyResponse } from "@farebox/core";
import { isJsonObject, parseJson } from "@farebox/core/protocol";
import { type Request, type RequestHandler, type Response, Router, raw } from "express";
import type { Admission, Caller, Seller } from "./access.js";
import type { FacilitatorHealth, LocalFacilitator, LocalResponse } from "./create-facilitator.js";
import { listHandler, searchHandler } from "./discovery.js";
import { logFailure } from "./log.js";
import { type BodyLimits, type FacilitatorRouterOptions, parseRouterOptions } from "./options.js";
import { catalogPage } from "./page/catalog-page.js";

/**
 * Creates a router for Express 4 and 5. A facilitator that serves everybody needs `{ open: true }`.
 *
 * A body that is too long, late, not JSON, or not a request of the protocol gets status 400 with `{ error }`. A payment that a
 * scheme refuses is a normal response, with status 200.
 *
 * @throws ConfigError with every issue at once.
 */
export function facilitatorRouter(
  facilitator: Facilitator | LocalFacilitator,
  options: FacilitatorRouterOptions = {},
): Router {
  const { limits, logger } = parseRouterOptions(facilitator, options);
  const readBody = createBodyReader(limits);

  /** Express 4 ignores a handler that rejects, so every rejection is caught here. */
  function handle(name: string, handler: (req: Request, res: Response) => Promise<void>): RequestHandler {
    return (req, res) => {
      handler(req, res).catch((error: unknown) => {
        if (!res.headersSent) res.status(500).json({ error: "the facilitator failed" });
        logFailure(logger, "request_failed", error, { call: name });
      });
    };
  }

  /** The caller is let in by its headers and its address, before its body is read. */
  function handleCall(
    name: "verify" | "settle",
    call: (request: FacilitatorRequest, seller: Seller | undefined) => Promise<AnyResponse>,
  ): RequestHandler {
    return handle(name, async (req, res) => {
      const admission: Admission =
        "admit" in facilitator ? facilitator.admit(callerOf(req)) : { ok: true, seller: undefined };
      if (!admission.ok) {
        // Node discards a short body. A long one is not received.
        if (!(Number(req.headers["content-length"]) <= limits.bytes)) res.setHeader("Connection", "close");
        return sendNotAdmitted(res, name, admission);
      }
      const body = await readBody(req, res);
      const problem = body.ok ? problemOf(body.value) : body.error;
      if (body.ok && problem === undefined) {
        return sendResponse(res, name, await call(body.value as FacilitatorRequest, admission.seller));
      }
      // The rest of the body may still arrive; it is not read.
      res.setHeader("Connection", "close");
      res.status(400).json({ error: problem });
    });
  }

  const askHealth = createHealthCache(async () =>
    "health" in facilitator ? facilitator.health() : { ok: true, schemes: [], signers: [] },
  );
  const router = Router();
  router.post(
    "/verify",
    handleCall("verify", (request, seller) => facilitator.verify(request, { seller })),
  );
  router.post(
    "/settle",
    handleCall("settle", (request, seller) => facilitator.settle(request, { seller })),
  );
  router.get(
    "/supported",
    handle("supported", async (_req, res) => void res.status(200).json(await facilitator.supported())),
  );
  router.get(
    "/health",
    handle("health", async (_req, res) => {
      const health = await askHealth();
      res.status(health.ok ? 200 : 503).json(health);
    }),
  );
  const catalog = "catalog" in facilitator ? facilitator.catalog : undefined;
  if (catalog === undefined) return router;
  router.get("/", catalogPage(catalog, logger === undefined ? {} : { logger }));
  router.get("/discovery/resources", handle("list", listHandler(catalog)));
  router.get("/discovery/search", handle("search", searchHandler(catalog)));
  return router;
}

/** A body, or a sentence for the client that says what is wrong with it. */
type ReadBody = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };

type BodyReader = (req: Request, res: Response) => Promise<ReadBody>;

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** Reads JSON bodies within limits, whether or not a body parser of the app has read them before. Never rejects. */
function createBodyReader(limits: BodyLimits): BodyReader {
  const tooLong = refuse(`the body must not be longer than ${limits.bytes} bytes`);
  const tooLate = refuse(`the body must arrive within ${limits.ms} ms`);
  const readRaw = raw({ limit: limits.bytes, inflate: false, type: () => true });

  function readBytes(req: Request, res: Response): Promise<ReadBody> {
    return new Promise((resolve) => {
      let received = 0;
      const timer = setTimeout(() => finish(tooLate), limits.ms);
      req.on("data", count);
      readRaw(req, res, (error?: unknown) => finish(toOutcome(error, req.body)));

      /** `express.raw` reports a body over its limit only when the client has sent all of it. */
      function count(chunk: Buffer): void {
        received += chunk.byteLength;
        if (received > limits.bytes) finish(tooLong);
      }
      function finish(outcome: ReadBody): void {
        clearTimeout(timer);
        req.off("data", count);
        resolve(outcome);
      }
    });
  }

  /** Errors of `express.raw` have a `type`. The response to a client that has disconnected is dropped by Node. */
  function toOutcome(error: unknown, body: unknown): ReadBody {
    if (error !== undefined) {
      const { type } = error as { readonly type?: unknown };
      if (type === "entity.too.large") return tooLong;
      return refuse(type === "encoding.unsupported" ? "the body must not be compressed" : "the body cannot be read");
    }
    const json = parseJson(Buffer.isBuffer(body) ? body.toString("utf8") : "");
    return json.ok ? json : refuse("the body is not JSON, or nested too deeply");
  }

  return async (req, res) => {
    if (!JSON_TYPE.test(req.headers["content-type"] ?? "")) return refuse("the content type must be application/json");
    if (!req.readableEnded) return readBytes(req, res);
    // A body parser has read the body. Without one, `req.body` is undefined in Express 5 and absent in Express 4.
    if (req.body !== undefined) return { ok: true, value: req.body };
    return refuse("the body has already been read, and no body parser has kept it");
  };
}

function refuse(error: string): ReadBody {
  return { ok: false, error };
}

/** Checks the outer form only; each scheme checks the two documents itself. */
function problemOf(value: unknown): string | undefined {
  if (!isJsonObject(value)) return "the body must be a JSON object";
  const { x402Version, paymentPayload, paymentRequirements } = value;
  if (x402Version !== 2) return "x402Version must be the number 2";
  if (!isJsonObject(paymentPayload)) return "paymentPayload must be an object";
  if (!isJsonObject(paymentRequirements)) return "paymentRequirements must be an object";
  if (typeof paymentRequirements["scheme"] !== "string") return "paymentRequirements.scheme must be a string";
  if (typeof paymentRequirements["network"] !== "string") return "paymentRequirements.network must be a string";
  return undefined;
}

type AnyResponse = LocalResponse<VerifyResponse | SettlementResponse>;

function callerOf(req: Request): Caller {
  const apiKey = req.headers["x-api-key"];
  const { authorization } = req.headers;
  // Express knows the address behind the proxies that the app trusts.
  return { authorization, apiKey: typeof apiKey === "string" ? apiKey : undefined, address: req.ip ?? "" };
}

/** A settlement that was refused for good says so in the protocol's form. A limited one may be sent again. */
function sendNotAdmitted(res: Response, name: "verify" | "settle", refusal: Exclude<Admission, { ok: true }>): void {
  const { status, reason: error, retryAfterSeconds } = refusal;
  if (retryAfterSeconds !== undefined) res.setHeader("Retry-After", retryAfterSeconds);
  if (status === 401) res.setHeader("WWW-Authenticate", "Bearer");
  const isFinal = status === 401 && name === "settle";
  const document = { success: false, errorReason: "unauthorized", errorMessage: error, transaction: "", network: "" };
  res.status(status).json(isFinal ? { error, ...document } : { error });
}

function sendResponse(
  res: Response,
  name: "verify" | "settle",
  { extensionResponses, policy, ...response }: AnyResponse,
): void {
  if (extensionResponses !== undefined) {
    const header = Buffer.from(JSON.stringify(extensionResponses)).toString("base64");
    res.setHeader("EXTENSION-RESPONSES", header);
  }
  if (policy?.retryAfterSeconds !== undefined) res.setHeader("Retry-After", policy.retryAfterSeconds);
  // Without a verdict, a seller asks another facilitator, or has its client come back with the same payment.
  const isUnavailable = policy?.status === 503 && name === "verify";
  res
    .status(policy?.status ?? 200)
    .json(isUnavailable ? { error: "the gas budget of this hour is used up" } : response);
}

/** How long `/health` repeats what it was told. Each question costs calls to nodes. */
const HEALTH_MS = 1_000;

/** Asks once at a time, and not again within {@link HEALTH_MS}. */
function createHealthCache(ask: () => Promise<FacilitatorHealth>): () => Promise<FacilitatorHealth> {
  let last: { readonly health: Promise<FacilitatorHealth>; untilMs: number } | undefined;
  return () => {
    if (last !== undefined && performance.now() < last.untilMs) return last.health;
    const asked = { health: ask(), untilMs: Number.POSITIVE_INFINITY };
    last = asked;
    const end = () => {
      asked.untilMs = performance.now() + HEALTH_MS;
    };
    asked.health.then(end, end);
    return asked.health;
  };
}
