/**
 * `pnpm demo`: a real client pays for a real Express route on a real chain, all on this machine.
 *
 * `--serve` keeps all servers running on fixed ports. `--browser` does, too, and serves a page that a person pays in, with a demo wallet. `--port N` uses N to N+3 instead of 4021 to 4024. `--processes N` sends one
 * payment to N processes of the seller at once.
 *
 * @module
 */
import { once } from "node:events";
import { parseArgs } from "node:util";
import { LocalChainError } from "@farebox/testing";
import { serveWithWallet } from "./browser.js";
import { DemoError } from "./demo-error.js";
import { payTogether } from "./processes.js";
import { bad, createProgress, good, heading, line } from "./screen.js";
import { type Ports, type Stage, setStage } from "./stage.js";
import { walkThrough } from "./tour.js";

const DEFAULT_PORT = 4021;
const ANY_PORTS: Ports = { seller: 0, facilitator: 0, chain: 0 };

async function main(): Promise<void> {
  const { serve, browser, ports, processes } = readArguments();
  const started = performance.now();
  const progress = createProgress();
  heading("Farebox: a paid request, start to end");
  const stage = await setStage({ ports, processes }, progress.step);
  progress.done();
  try {
    if (browser) return await keepBrowsing(stage, ports.seller === 0 ? 0 : ports.seller + 3);
    if (processes === 1) await walkThrough(stage);
    else await payTogether(stage);
    heading(`All checks passed, in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
    if (serve) await keepServing(stage);
    else if (processes === 1) {
      line("Keep it running with: npx -y pnpm@10 demo --serve");
      line("Pay in a browser with: npx -y pnpm@10 demo --browser");
    }
  } finally {
    await stage.close();
  }
}

async function keepServing(stage: Stage): Promise<void> {
  heading("All servers run until Ctrl-C. Try them from another terminal:");
  line(`curl -i ${stage.sellerUrl}/weather`);
  line(`npx -y pnpm@10 pay ${stage.sellerUrl}/weather`);
  const options = `-H 'content-type: application/json' -d '{"text":"one two"}'`;
  line(`npx -y pnpm@10 pay ${options} ${stage.sellerUrl}/words`);
  heading("For a seller of your own on this machine:");
  line(`facilitator: ${stage.facilitatorUrl}`);
  line("network:     eip155:84532");
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  good("stopped");
}

async function keepBrowsing(stage: Stage, port: number): Promise<void> {
  const { url, close } = await serveWithWallet(stage, port);
  heading("Open this page in a browser, and press the button. It pays with a demo wallet, on a chain of this machine:");
  line(`${url}/weather`);
  line("All servers run until Ctrl-C.");
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  await close();
  good("stopped");
}

interface Arguments {
  readonly serve: boolean;
  readonly browser: boolean;
  readonly ports: Ports;
  readonly processes: number;
}

function readArguments(): Arguments {
  const options = {
    serve: { type: "boolean" },
    browser: { type: "boolean" },
    port: { type: "string" },
    processes: { type: "string" },
  } as const;
  try {
    // pnpm passes `--` on to the script.
    const { values } = parseArgs({ options, args: process.argv.slice(2).filter((argument) => argument !== "--") });
    const browser = values.browser ?? false;
    const serve = browser || (values.serve ?? false);
    const processes = values.processes === undefined ? 1 : readProcesses(values.processes);
    if (processes > 1 && (serve || values.port !== undefined)) {
      throw new DemoError("--processes takes neither --serve, --browser nor --port");
    }
    if (values.port === undefined && !serve) return { serve, browser, ports: ANY_PORTS, processes };
    const first = values.port === undefined ? DEFAULT_PORT : readPort(values.port);
    return { serve, browser, ports: { seller: first, facilitator: first + 1, chain: first + 2 }, processes };
  } catch (error) {
    if (error instanceof DemoError) throw error;
    throw new DemoError(
      `${error instanceof Error ? error.message : "bad arguments"}. Usage: demo [--serve] [--browser] [--port N] [--processes N]`,
    );
  }
}

function readProcesses(text: string): number {
  if (/^[2-8]$/.test(text)) return Number(text);
  throw new DemoError(`--processes takes a number from 2 to 8, not ${JSON.stringify(text)}`);
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) <= 65_533) return Number(text);
  throw new DemoError(`--port takes a number from 1 to 65533, not ${JSON.stringify(text)}`);
}

main().catch((error: unknown) => {
  const known = error instanceof DemoError || error instanceof LocalChainError;
  process.stdout.write("\n");
  bad(known ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
