/**
 * Loads Express behind something that wraps its layers, as programs do that start with `--import ./instrument.mjs`.
 *
 * The environment names the wrapper and the version of Express: `WRAPPER=open-telemetry EXPRESS=5`.
 *
 * @module
 */
import { Server } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { WRAPPER: wrapper = "nothing", EXPRESS: major = "5" } = process.env;

/** With the parts of the SDK that keep spans, and a span around each request, as the instrumentation of `http` makes one. */
function openTelemetry() {
  const { context, trace } = require("@opentelemetry/api");
  const { AsyncLocalStorageContextManager } = require("@opentelemetry/context-async-hooks");
  const { ExpressInstrumentation } = require("@opentelemetry/instrumentation-express");
  const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const spanProcessors = [new SimpleSpanProcessor(new InMemorySpanExporter())];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  new ExpressInstrumentation();
  const tracer = trace.getTracer("test");
  const { emit } = Server.prototype;
  Server.prototype.emit = function traced(name, ...args) {
    if (name !== "request") return Reflect.apply(emit, this, [name, ...args]);
    return tracer.startActiveSpan("request", (span) => {
      args[1].once("close", () => span.end());
      return Reflect.apply(emit, this, [name, ...args]);
    });
  };
}

/** What it would send stays here. */
function sentry(options = {}) {
  const { createTransport, init } = require("@sentry/node");
  const transport = (settings) => createTransport(settings, async () => ({ statusCode: 200 }));
  init({ dsn: "https://key@sentry.invalid/1", transport, ...options });
}

const WRAPPERS = {
  nothing: () => {},
  "open-telemetry": openTelemetry,
  // Without traces Sentry wraps no layer. It has handlers of its own behind all others, and wraps the server.
  sentry: () => sentry(),
  "sentry-traces": () => sentry({ tracesSampleRate: 1 }),
  // Both wrap each layer, one around the other.
  "sentry-and-open-telemetry": () => {
    sentry({ tracesSampleRate: 1 });
    new (require("@opentelemetry/instrumentation-express").ExpressInstrumentation)();
  },
  "express-async-errors": () => require("express-async-errors"),
  "express-promise-router": () => {},
};

WRAPPERS[wrapper]();

export const express = require(major === "4" ? "express4" : "express");

export const Router = wrapper === "express-promise-router" ? require("express-promise-router") : express.Router;

/** What has to be said to an app that has all its routes. */
export function finish(app) {
  if (wrapper.startsWith("sentry")) require("@sentry/node").setupExpressErrorHandler(app);
}

/** A test of a wrapper that does not wrap would prove nothing. */
function isWrapped() {
  const handler = (_req, _res, next) => next();
  const app = express().use(handler);
  const { stack } = app._router ?? app.router;
  return stack.at(-1).handle !== handler;
}

const wraps = !["nothing", "sentry", "express-promise-router"].includes(wrapper);
if (isWrapped() !== wraps) throw new Error(`${wrapper} wraps ${wraps ? "nothing" : "layers"}`);
