/**
 * Detects whether several processes probably serve the same routes. A memory store is then wrong, because they do not share it.
 *
 * @module
 */
/** Environment variables of platforms that run several processes, or restart them often. */
const SIGNS: readonly (readonly [variable: string, platform: string])[] = [
  ["NODE_APP_INSTANCE", "PM2"],
  ["pm_id", "PM2"],
  ["AWS_LAMBDA_FUNCTION_NAME", "AWS Lambda"],
  ["VERCEL", "Vercel"],
  ["NETLIFY", "Netlify"],
  ["FUNCTION_TARGET", "Cloud Functions"],
  ["K_SERVICE", "Cloud Run"],
  ["FUNCTIONS_WORKER_RUNTIME", "Azure Functions"],
];

/** The name of the platform, e.g. `PM2`, or `undefined` if no known one is found. */
export function findSeveralProcesses(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  isWorker: boolean = isClusterWorker(),
): string | undefined {
  if (isWorker) return "node:cluster";
  const platform = SIGNS.find(([variable]) => environment[variable] !== undefined)?.[1];
  // Heroku sets it for every app. One process is one.
  const isSeveral = Number(environment["WEB_CONCURRENCY"]) > 1;
  return platform ?? (isSeveral ? "WEB_CONCURRENCY" : undefined);
}

/** Loads `node:cluster` on use: a seller with a shared store does not need it. */
function isClusterWorker(): boolean {
  return Reflect.get(process.getBuiltinModule("node:cluster"), "isWorker") === true;
}
