/**
 * One anvil process: started, known to be ready, and ended with whatever happens to this process.
 *
 * @module
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { LocalChainError } from "./local-chain-error.js";
import type { Executable } from "./locate-anvil.js";

/** A running anvil. */
export interface AnvilProcess {
  readonly rpcUrl: string;
  /** Ends the process and resolves when it has ended; may be called again. */
  close(): Promise<void>;
}

/** How to start anvil. */
export interface AnvilOptions {
  readonly executable: Executable;
  readonly chainId: number;
  /** 0: any free port. */
  readonly port: number;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Anvil prints this once it accepts connections. */
const LISTENING = /^Listening on (127\.0\.0\.1:\d+)\s*$/m;

const START_DEADLINE_MS = 20_000;

/** What one `exit` listener ends: more than ten listeners on one event look like a leak. */
const running = new Set<Child>();

/**
 * Starts anvil and waits until it accepts connections. It does not keep this process alive.
 *
 * @throws {@link LocalChainError} when it cannot be run, ends early (a busy port, say) or is not ready within 20 s
 */
export async function startAnvil(options: AnvilOptions): Promise<AnvilProcess> {
  const { executable, chainId, port } = options;
  const args = ["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(chainId)];
  const child = spawn(executable.file, [...executable.args, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const stopGuarding = endWithThisProcess(child);
  child.once("exit", stopGuarding);
  try {
    const address = await listening(child);
    release(child);
    return { rpcUrl: `http://${address}`, close: () => end(child) };
  } catch (error) {
    await end(child);
    stopGuarding();
    throw error;
  }
}

function listening(child: Child): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    let problem = "";
    const fail = (message: string, cause?: unknown): void => {
      clearTimeout(deadline);
      reject(new LocalChainError(message, { cause }));
    };
    const deadline = setTimeout(() => fail(`anvil was not ready within ${START_DEADLINE_MS} ms`), START_DEADLINE_MS);
    child.stdout.setEncoding("utf8").on("data", function read(chunk: string) {
      output += chunk;
      const address = LISTENING.exec(output)?.[1];
      if (address === undefined) return;
      clearTimeout(deadline);
      child.stdout.off("data", read);
      resolve(address);
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      problem = (problem + chunk).slice(-500);
    });
    child.once("error", (error) => fail(`anvil could not be run: ${error.message}`, error));
    child.once("close", (code) => fail(`anvil ended with code ${code} before it was ready: ${problem.trim()}`));
  });
}

/** Lets this process end while anvil runs. Its output is read on, because a full pipe would stop it. */
function release(child: Child): void {
  child.unref();
  for (const stream of [child.stdout, child.stderr]) {
    stream.resume();
    if (stream instanceof Socket) stream.unref();
  }
}

async function end(child: Child): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.ref();
  child.kill("SIGTERM");
  await ended;
}

/**
 * Ends the child when this process ends. A signal gives a process no chance to run code, so besides the `exit` event
 * a shell waits for its input to be closed, which the kernel does in every case. Yields a function that undoes both.
 */
function endWithThisProcess(child: Child): () => void {
  if (running.size === 0) process.on("exit", killAll);
  running.add(child);
  const guard = child.pid === undefined || process.platform === "win32" ? undefined : startGuard(child.pid);
  return () => {
    guard?.kill("SIGKILL");
    running.delete(child);
    if (running.size === 0) process.off("exit", killAll);
  };
}

function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

function startGuard(pid: number): ReturnType<typeof spawn> {
  const script = 'read -r _; kill -TERM "$1"';
  const guard = spawn("/bin/sh", ["-c", script, "sh", String(pid)], { stdio: ["pipe", "ignore", "ignore"] });
  // Without a shell only the `exit` event is left.
  guard.on("error", () => {});
  guard.unref();
  if (guard.stdin instanceof Socket) guard.stdin.unref();
  return guard;
}
