/**
 * `farebox doctor`: checks a server, or a seller's file before it is deployed, as clients, facilitators and chains see it.
 *
 * @module
 */
import { ConfigError } from "@farebox/core";
import { wrongCall } from "../frame/cli-error.js";
import type { Clock } from "../frame/clock.js";
import { type Command, defineCommand } from "../frame/command.js";
import { printable, type Style, type Terminal } from "../frame/terminal.js";
import { openNodes } from "../rpc/read-rpc-option.js";
import { isFile } from "../seller-module/load.js";
import { checkChains } from "./chain-checks.js";
import type { Diagnosis, Level } from "./diagnoses.js";
import { checkFacilitators, openFacilitators } from "./facilitator-checks.js";
import { openModule, type RunningModule } from "./module-checks.js";
import { createProbe, type Probe } from "./probe.js";
import { checkRoute, type RouteChecked } from "./route-checks.js";
import { findTargets } from "./targets.js";

const PAGE = "https://github.com/farebox/farebox/blob/main/docs/reference";
const AT_ONCE = 4;

export const command: Command = defineCommand({
  name: "doctor",
  summary: "Checks a server, or a file before it is deployed, as clients, facilitators and chains see it",
  usage: "[options] <url or file>",
  options: {
    facilitator: {
      type: "string",
      multiple: true,
      value: "url",
      description: "Also asks this facilitator whether it supports the offers",
    },
    rpc: {
      type: "string",
      multiple: true,
      value: "network=url",
      description: "Also asks this node about payees and assets, e.g. eip155:8453=https://…",
    },
    processes: {
      type: "string",
      value: "number",
      default: "1",
      description: "For a file: how many processes will run it",
    },
    timeout: {
      type: "string",
      value: "seconds",
      default: "10",
      description: "The time limit of each request, 1 to 120",
    },
    verbose: { type: "boolean", description: "Also lists the routes that are in order" },
    json: { type: "boolean", description: "Prints the result as JSON" },
  },
  details: `A URL is one of a priced route, of an OpenAPI document, or of a server with /.well-known/x402 or /openapi.json. A file exports the Express app as app
and the result of createPayments() as payments, or the arguments of both as options and routes. It is loaded, and its app is served on this machine.

No payment is made. Each route gets about ten requests: without a payment, with one that nobody signed, by other spellings of its path.

Exits with 0, or with 1 if there is an error. Warnings are no errors.

  farebox doctor https://api.example.com --facilitator https://x402.org/facilitator --rpc eip155:84532=https://sepolia.base.org
  farebox doctor server.mjs --processes 4`,
  async run({ options, args, terminal, clock }) {
    const [target] = args;
    if (target === undefined || args.length > 1)
      throw wrongCall("name one URL or one file", "Write farebox doctor https://api.example.com");
    const timeoutMs = readNumber("--timeout", options.timeout, 120) * 1000;
    const processes = readNumber("--processes", options.processes, 10_000);
    const peers = openPeers(options.facilitator, options.rpc, timeoutMs);
    const probe = createProbe(timeoutMs, clock);
    terminal.progress(`Loading ${target}`);
    const found = isFile(target) ? await openModule(target, processes) : await openServer(target, probe);
    try {
      const routes = await checkRoutes(found, { probe, terminal, clock });
      const offers = routes.flatMap((route) => route.offers);
      terminal.progress("Asking facilitators and nodes");
      const beyond = await Promise.all([
        checkFacilitators(peers.facilitators, offers, { timeoutMs, clock }),
        checkChains(peers.nodes, offers, clock.now()),
      ]);
      const diagnoses = [...found.diagnoses, ...routes.flatMap((route) => route.diagnoses), ...beyond.flat()];
      const result = { target, routes, diagnoses: mergeSame(diagnoses) };
      if (options.json) printJson(result, terminal);
      else print(result, terminal, options.verbose);
      return diagnoses.some(({ level }) => level === "error") ? 1 : 0;
    } finally {
      await found.close();
    }
  },
});

interface Result {
  readonly target: string;
  readonly routes: readonly RouteChecked[];
  readonly diagnoses: readonly Diagnosis[];
}

function readNumber(option: string, text: string, most: number): number {
  const number = Number(text);
  if (/^\d{1,6}$/.test(text) && number >= 1 && number <= most) return number;
  throw wrongCall(`${option} is a whole number from 1 to ${most}, not ${JSON.stringify(text)}`, `Write ${option} 10`);
}

function openPeers(facilitators: readonly string[], rpc: readonly string[], timeoutMs: number) {
  const nodes = openNodes(rpc, timeoutMs);
  try {
    return { facilitators: openFacilitators(facilitators), nodes };
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw wrongCall("--facilitator takes http and https URLs", "Write --facilitator https://x402.org/facilitator");
  }
}

async function openServer(target: string, probe: Probe): Promise<RunningModule> {
  if (!URL.canParse(target))
    throw wrongCall(`this is no URL: ${JSON.stringify(target)}`, "Write https://api.example.com");
  return { ...(await findTargets(target, probe)), close: async () => {} };
}

/** Asks routes, a few at once, in their order. */
async function checkRoutes(
  { targets }: RunningModule,
  { probe, terminal, clock }: { readonly probe: Probe; readonly terminal: Terminal; readonly clock: Clock },
): Promise<readonly RouteChecked[]> {
  const checked: RouteChecked[] = [];
  const left = [...targets.entries()];
  const checkNext = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [at, target] = next;
      terminal.progress(`Asking route ${at + 1} of ${targets.length}`);
      checked[at] = await checkRoute(target, { probe, now: () => clock.now() });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, checkNext));
  return checked;
}

/** One diagnosis for what is the same at many routes. */
function mergeSame(diagnoses: readonly Diagnosis[]): readonly Diagnosis[] {
  const merged = new Map<string, Diagnosis[]>();
  for (const each of diagnoses) {
    const key = JSON.stringify([each.code, each.message, each.remedy]);
    merged.set(key, [...(merged.get(key) ?? []), each]);
  }
  return [...merged.values()].map((same) => {
    const [first, ...others] = same as [Diagnosis, ...Diagnosis[]];
    return others.length === 0 ? first : { ...first, subject: `${first.subject} and ${others.length} more` };
  });
}

const MARKS: Readonly<Record<Level, readonly [mark: string, style: Style]>> = {
  error: ["error  ", "red"],
  warning: ["warning", "yellow"],
  note: ["note   ", "cyan"],
};

function print({ routes, diagnoses, target }: Result, terminal: Terminal, isVerbose: boolean): void {
  if (isVerbose) {
    for (const { subject, summary } of routes) terminal.print(`route    ${printable(subject)}: ${printable(summary)}`);
    if (routes.length > 0) terminal.print();
  }
  for (const level of ["error", "warning", "note"] as const) {
    for (const each of diagnoses.filter((one) => one.level === level)) printDiagnosis(each, terminal);
  }
  const count = (level: Level) => diagnoses.filter((each) => each.level === level).length;
  const [errors, warnings] = [count("error"), count("warning")];
  const asked = `${plural(routes.length, "route")} of ${printable(target)}`;
  const verdict = `${plural(errors, "error")}, ${plural(warnings, "warning")}`;
  terminal.print(terminal.style(errors > 0 ? "red" : warnings > 0 ? "yellow" : "green", `${asked}: ${verdict}`));
}

function printDiagnosis({ code, level, subject, message, remedy }: Diagnosis, terminal: Terminal): void {
  const [mark, style] = MARKS[level];
  terminal.print(`${terminal.style(style, mark)}  ${terminal.style("bold", code)}  ${printable(subject)}`);
  terminal.print(`         ${printable(message)}`);
  terminal.print(`         ${terminal.style("dim", `${printable(remedy)}: ${pageOf(code)}`)}`);
  terminal.print();
}

function pageOf(code: string): string {
  return `${PAGE}/${code.startsWith("FAREBOX_DOCTOR_") ? "doctor" : "errors"}.md#${code.toLowerCase()}`;
}

function printJson({ target, routes, diagnoses }: Result, terminal: Terminal): void {
  const count = (level: Level) => diagnoses.filter((each) => each.level === level).length;
  terminal.printJson({
    target,
    ok: count("error") === 0,
    errors: count("error"),
    warnings: count("warning"),
    routes: routes.map(({ subject, offers }) => ({ route: subject, offers })),
    diagnoses: diagnoses.map((each) => ({ ...each, page: pageOf(each.code) })),
  });
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
