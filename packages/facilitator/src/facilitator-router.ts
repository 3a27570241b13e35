/**
 * A facilitator behind HTTP: `POST /verify`, `POST /settle`, `GET /supported`, `GET /health`, and where it has a catalog
 * `GET /discovery/resources`, `GET /discovery/search`, and a page for people at `GET /`.
 *
 * @see x402 v2 §7, §8
 * @module
 */
import { type Facilitator, type FacilitatorRequest, isJsonObject, type LogFields, type Logger } from "@farebox/core";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { catalogPage } from "./catalog-page/catalog-page.js";
import type { LocalFacilitator } from "./create-facilitator.js";
import { answerDiscovery, writeList, writeSearch } from "./discovery-answer.js";
import { readListQuery, readSearchQuery } from "./discovery-query.js";
import { type BodyLimits, readBody } from "./read-body.js";
import type { Extended } from "./registrar.js";
import { type FacilitatorRouterOptions, parseRouterOptions } from "./router-options.js";

/**
 * Creates a router for Express 4 and 5. A body that is too long, no JSON or no request of the protocol is answered 400
 * with `{ error }`. A payment that is refused is an answer like any other, with status 200.
 *
 * @throws ConfigError with every issue at once.
 */
export function facilitatorRouter(
  facilitator: Facilitator | LocalFacilitator,
  options: FacilitatorRouterOptions = {},
): Router {
  const { limits, logger } = parseRouterOptions(facilitator, options);
  const handle = (name: string, work: Work): RequestHandler => toHandler(name, work, logger);
  const call = (name: string, work: Call): RequestHandler =>
    handle(name, async (req, res) => answer(res, await readRequest(req, limits), work));

  const router = Router()
    .post(
      "/verify",
      call("verify", (request) => facilitator.verify(request)),
    )
    .post(
      "/settle",
      call("settle", (request) => facilitator.settle(request)),
    )
    .get(
      "/supported",
      handle("supported", async (_req, res) => send(res, 200, await facilitator.supported())),
    )
    .get(
      "/health",
      handle("health", (_req, res) => sendHealth(facilitator, res)),
    );
  const catalog = "catalog" in facilitator ? facilitator.catalog : undefined;
  if (catalog === undefined) return router;
  const listing = { ask: catalog.list, write: writeList };
  const searching = { ask: catalog.search, write: writeSearch };
  return router
    .get("/", catalogPage(catalog, logger === undefined ? {} : { logger }))
    .get(
      "/discovery/resources",
      handle("list", (req, res) => answerDiscovery(res, readListQuery(req.url, catalog), listing)),
    )
    .get(
      "/discovery/search",
      handle("search", (req, res) => answerDiscovery(res, readSearchQuery(req.url, catalog), searching)),
    );
}

const EXTENSION_RESPONSES = "EXTENSION-RESPONSES";

type Work = (req: Request, res: Response) => Promise<void>;
type Call = (request: FacilitatorRequest) => Promise<object>;

/** Catches everything: Express 4 ignores a handler that rejects, and its client would wait for ever. */
function toHandler(name: string, work: Work, logger: Logger | undefined): RequestHandler {
  return (req, res) => {
    work(req, res).catch((error: unknown) => {
      if (!res.headersSent) send(res, 500, { error: "the facilitator failed" });
      report(logger, { call: name, error: error instanceof Error ? error.name : "not an error" });
    });
  };
}

function report(logger: Logger | undefined, fields: LogFields): void {
  try {
    logger?.error("request_failed", fields);
  } catch {
    // There is nobody left to tell, and the process is not ended for it.
  }
}

type ReadRequest =
  | { readonly ok: true; readonly request: FacilitatorRequest }
  | { readonly ok: false; readonly error: string | undefined };

async function readRequest(req: Request, limits: BodyLimits): Promise<ReadRequest> {
  const body = await readBody(req, limits);
  if (!body.ok) return body;
  const problem = problemOf(body.value);
  return problem === undefined
    ? { ok: true, request: body.value as FacilitatorRequest }
    : { ok: false, error: problem };
}

/** Only the outer form is checked here; what is in the two documents is the scheme's to refuse. */
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

async function answer(res: Response, read: ReadRequest, work: Call): Promise<void> {
  if (read.ok) return sendAnswer(res, await work(read.request));
  if (read.error === undefined) return;
  // The rest of the body may still be on its way, and nobody will read it.
  res.setHeader("Connection", "close");
  send(res, 400, { error: read.error });
}

/** What extensions have to say travels beside the answer. */
function sendAnswer(res: Response, { extensionResponses, ...answer }: Extended<object>): void {
  if (extensionResponses !== undefined) {
    res.setHeader(EXTENSION_RESPONSES, Buffer.from(JSON.stringify(extensionResponses)).toString("base64"));
  }
  send(res, 200, answer);
}

async function sendHealth(facilitator: Facilitator | LocalFacilitator, res: Response): Promise<void> {
  const health = "health" in facilitator ? await facilitator.health() : { ok: true, schemes: [] };
  send(res, health.ok ? 200 : 503, health);
}

function send(res: Response, status: number, json: object): void {
  res.status(status).json(json);
}
