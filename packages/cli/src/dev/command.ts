/**
 * `farebox dev`: a chain, a facilitator, a catalog and money for a seller's own project, and a page that shows each request.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { wrongCall } from "../frame/cli-error.js";
import { type Command, defineCommand } from "../frame/command.js";
import { printable, type Terminal } from "../frame/terminal.js";
import { FaultSwitch } from "./faults.js";
import { describeEntry, Journal } from "./journal.js";
import { createPage } from "./page.js";
import { createProxy } from "./proxy.js";
import { type DevStage, openStage, portInUse, sellerAddress } from "./stage.js";

export const command: Command = defineCommand({
  name: "dev",
  summary: "Runs a chain, a facilitator and a catalog for your own server, and shows each request",
  usage: "[options] -- <command that starts your server>",
  cleansUp: true,
  options: {
    target: { type: "string", value: "url", description: "Your server, if it runs already" },
    port: {
      type: "string",
      value: "number",
      default: "4020",
      description:
        "The port to ask, in front of your server; the next ones are of the page, the facilitator and the chain",
    },
    memory: { type: "boolean", description: "Starts no chain: money moves in a ledger in memory" },
  },
  details: `Your server is started with these environment variables: PORT, FACILITATOR_URL, RPC_URL, NETWORK (eip155:84532) and PAY_TO. Ctrl-C ends all of it.

  farebox dev -- node server.mjs
  farebox pay http://localhost:4020/weather`,
  async run({ options, args, rest, terminal, env, signal }) {
    const [first, ...others] = rest;
    const hasTarget = options.target !== undefined;
    if (args.length > 0 || hasTarget === (first !== undefined)) {
      throw wrongCall(
        "name the command that starts your server behind --, or --target",
        "Write farebox dev -- node server.mjs",
      );
    }
    const port = readPort(options.port);
    const journal = new Journal();
    const faults = new FaultSwitch();
    const opened: (() => Promise<unknown>)[] = [];
    const close = async () => {
      for (const end of opened.splice(0).reverse()) await end();
    };
    try {
      terminal.progress("Starting a chain, a facilitator and a catalog");
      const tell = (line: string) => terminal.warn(printable(line));
      const stage = await openStage({
        facilitatorPort: port + 2,
        chainPort: port + 3,
        inMemory: options.memory,
        journal,
        faults,
        tell,
      });
      opened.push(() => stage.close());
      const target = hasTarget ? readTarget(options.target) : new URL(`http://127.0.0.1:${await freePort()}`);
      opened.push(await listen(createProxy(target, journal), port));
      opened.push(await listen(createPage(journal, faults), port + 1));
      journal.listen((entry) => {
        if (entry.status !== undefined) terminal.print(printable(describeEntry(entry)));
      });
      introduce(terminal, stage, { port, target, isCatalog: stage.hasCatalog });
      if (first === undefined) {
        await aborted(signal);
        return 0;
      }
      const child = spawn(first, others, { stdio: "inherit", env: { ...env, ...environmentOf(stage, target) } });
      opened.push(() => endProcess(child));
      const ended = await Promise.race([aborted(signal), exitOf(child)]);
      if (ended === undefined) return 0;
      terminal.warn(`${printable(first)} has ended: ${printable(ended)}`);
      return 1;
    } finally {
      await close();
    }
  },
});

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_532) return port;
  throw wrongCall(`--port is a whole number from 1 to 65532, not ${JSON.stringify(text)}`, "Write --port 4020");
}

function readTarget(text: string | undefined): URL {
  if (text !== undefined && /^http:\/\/[^/]+\/?$/.test(text) && URL.canParse(text)) return new URL(text);
  throw wrongCall(`--target is an http origin, not ${JSON.stringify(text)}`, "Write --target http://127.0.0.1:3000");
}

function environmentOf({ facilitator, chain, network }: DevStage, { port }: URL): Readonly<Record<string, string>> {
  const rpc = chain === undefined ? {} : { RPC_URL: chain.rpcUrl };
  return { PORT: port, FACILITATOR_URL: facilitator.url, NETWORK: network, PAY_TO: sellerAddress(), ...rpc };
}

function introduce(
  terminal: Terminal,
  { facilitator, chain }: DevStage,
  { port, target, isCatalog }: { readonly port: number; readonly target: URL; readonly isCatalog: boolean },
): void {
  const row = (name: string, value: string) => terminal.print(`  ${name.padEnd(13)}${terminal.style("cyan", value)}`);
  terminal.print(terminal.style("bold", "farebox dev"));
  row("your server", `http://localhost:${port}  →  ${target.origin}`);
  row("live page", `http://localhost:${port + 1}`);
  row("facilitator", facilitator.url);
  if (isCatalog) row("catalog", `${facilitator.url}/`);
  row("chain", chain === undefined ? "none: a ledger in memory" : chain.rpcUrl);
  row("pay", `farebox pay http://localhost:${port}/…`);
  terminal.print();
}

/** Listens on this machine only. Returns a function that closes. */
async function listen(
  server: Server & { closeAllConnections?(): void },
  port: number,
): Promise<() => Promise<unknown>> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening").catch((cause: unknown) => {
    throw portInUse(port, cause);
  });
  return async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections?.();
    await closed;
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

/** How a process ended. */
function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "ENOENT" ? "there is no such command" : error.message),
    );
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

/** Asks a process to end, and ends it if it does not within 5 seconds. */
async function endProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(late);
}
