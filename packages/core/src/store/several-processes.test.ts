import { expect, test } from "vitest";
import { findSeveralProcesses } from "./several-processes.js";

test.each<[environment: Record<string, string>, isWorker: boolean, found: string | undefined]>([
  [{}, false, undefined],
  [{ PATH: "/bin", NODE_ENV: "production" }, false, undefined],
  [{}, true, "node:cluster"],
  [{ NODE_APP_INSTANCE: "0" }, false, "PM2"],
  [{ pm_id: "3" }, false, "PM2"],
  [{ AWS_LAMBDA_FUNCTION_NAME: "shop" }, false, "AWS Lambda"],
  [{ VERCEL: "1" }, false, "Vercel"],
  [{ NETLIFY: "true" }, false, "Netlify"],
  [{ K_SERVICE: "shop" }, false, "Cloud Run"],
  [{ K_SERVICE: "shop", FUNCTION_TARGET: "shop" }, false, "Cloud Functions"],
  [{ WEB_CONCURRENCY: "1" }, false, undefined],
  [{ WEB_CONCURRENCY: "auto" }, false, undefined],
  [{ WEB_CONCURRENCY: "2" }, false, "WEB_CONCURRENCY"],
  [{ WEB_CONCURRENCY: "1", pm_id: "0" }, false, "PM2"],
  [{ FUNCTIONS_WORKER_RUNTIME: "node" }, false, "Azure Functions"],
])(
  "with the environment %j, in a cluster worker: %s, findSeveralProcesses returns %s",
  (environment, isWorker, found) => {
    expect(findSeveralProcesses(environment, isWorker)).toBe(found);
  },
);
