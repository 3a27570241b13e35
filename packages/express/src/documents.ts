/**
 * Handlers that serve documents about the priced routes and tools, for crawlers and agents.
 *
 * @module
 */
import { writeLlmsTxt, writeOpenApi, writeWellKnown } from "@farebox/bazaar";
import { ConfigError, type PaymentsEngine } from "@farebox/core";
import type { DescribedRoute, DescribedTool } from "@farebox/core/adapter";
import type { Request, RequestHandler } from "express";
import { ExpressRequest } from "./express-request.js";
import type { Documents } from "./payments.js";
import { createRouterView } from "./router-view.js";

type Write = (routes: readonly DescribedRoute[], baseUrl: string, tools: readonly DescribedTool[]) => string;

/** Creates the handlers of one seller. */
export function createDocuments(engine: PaymentsEngine): Documents {
  const json = "application/json; charset=utf-8";
  const serve = (type: string, write: Write) => createHandler(engine, type, write);
  return {
    wellKnown: () => serve(json, (...described) => JSON.stringify(writeWellKnown(...described))),
    openapi(options) {
      checkTitle("openapi", options);
      return serve(json, (routes, baseUrl, tools) => JSON.stringify(writeOpenApi(routes, options, baseUrl, tools)));
    },
    llmsTxt(options) {
      checkTitle("llmsTxt", options);
      return serve("text/plain; charset=utf-8", (routes, baseUrl, tools) =>
        writeLlmsTxt(routes, options, baseUrl, tools),
      );
    },
  };
}

function checkTitle(path: string, options: { readonly title?: unknown } | undefined): void {
  if (typeof options?.title === "string" && options.title !== "") return;
  throw new ConfigError([{ path: `${path}.title`, expected: "a text that is not empty", received: "nothing" }]);
}

function createHandler(engine: PaymentsEngine, type: string, write: Write): RequestHandler {
  let last: { readonly app: Request["app"]; readonly baseUrl: string; readonly text: string } | undefined;
  return (req, res) => {
    // Without `publicUrl`, the base URL comes from the request's headers. Shared caches must not keep such a document.
    const { origin: baseUrl, isCertain } = engine.originOf(new ExpressRequest(req, engine).origin);
    if (last === undefined || last.app !== req.app || last.baseUrl !== baseUrl) {
      last = {
        app: req.app,
        baseUrl,
        text: write(engine.describe(createRouterView(req.app)), baseUrl, engine.describeTools()),
      };
    }
    res.setHeader("Content-Type", type);
    res.setHeader("X-Content-Type-Options", "nosniff");
    res.setHeader("Access-Control-Allow-Origin", "*");
    res.setHeader("Cache-Control", isCertain ? "public, max-age=300" : "no-store");
    res.end(req.method === "HEAD" ? undefined : last.text);
  };
}
