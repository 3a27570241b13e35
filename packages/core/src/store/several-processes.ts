/**
 * Whether this process is probably one of several that serve the same routes. What one of them remembers, the others do not.
 *
 * @module
 */
/** What is set where processes are several, or come and go, and what it is called. PM2 numbers its instances from 0. */
const SIGNS: readonly (readonly [variable: string, platform: string])[] = [
  ["NODE_APP_INSTANCE", "PM2"],
  ["pm_id", "PM2"],
  ["AWS_LAMBDA_FUNCTION_NAME", "AWS Lambda"],
  ["VERCEL", "Vercel"],
  ["NETLIFY", "Netlify"],
  ["K_SERVICE", "Cloud Run"],
  ["FUNCTIONS_WORKER_RUNTIME", "Azure Functions"],
];

/** The name of what runs several processes, or starts them anew for requests; `undefined`: nothing that is known. */
export function findSeveralProcesses(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  isWorker: boolean = isClusterWorker(),
): string | undefined {
  if (isWorker) return "node:cluster";
  return SIGNS.find(([variable]) => environment[variable] !== undefined)?.[1];
}

/** Loads `node:cluster` only now: a seller whose store is shared never asks. */
function isClusterWorker(): boolean {
  return Reflect.get(process.getBuiltinModule("node:cluster"), "isWorker") === true;
}
