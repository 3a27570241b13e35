/**
 * Anvil: finds the binary of the npm package `@foundry-rs/anvil`, starts one process, and ends it in every case with this
 * process. Also the accounts that anvil unlocks.
 *
 * @module
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { LocalChainError } from "./rpc.js";

/** A running anvil. */
export interface AnvilProcess {
  readonly rpcUrl: string;
  /** Ends the process, and resolves when it has ended. Further calls do nothing. */
  close(): Promise<void>;
}

/** How to start anvil. */
export interface AnvilOptions {
  readonly executable: Executable;
  readonly chainId: number;
  /** 0: a free port. */
  readonly port: number;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Anvil prints this once it accepts connections. */
const LISTENING = /^Listening on (127\.0\.0\.1:\d+)\s*$/m;

const START_DEADLINE_MS = 20_000;

/** The processes that one `exit` listener ends. More than ten listeners on one event look like a leak. */
const running = new Set<Child>();

/**
 * Starts anvil and waits until it accepts connections. It does not keep this process alive.
 *
 * @throws {@link LocalChainError} when anvil cannot be run, ends early (such as on a busy port), or is not ready within 20 s
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

/** Lets this process end while anvil runs. Keeps reading its output, because a full pipe would block anvil. */
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
 * Ends the child when this process ends. A process that is killed runs no `exit` listener, so a shell also waits until its
 * input closes, which the kernel does in every case. Returns a function that removes both.
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
  // Without a shell, only the `exit` listener ends the child.
  guard.on("error", () => {});
  guard.unref();
  if (guard.stdin instanceof Socket) guard.stdin.unref();
  return guard;
}

/** A program, and arguments that come before its own. */
export interface Executable {
  readonly file: string;
  readonly args: readonly string[];
}

/** The platform that anvil is searched for; a parameter, so that tests can use other platforms. */
export interface Host {
  readonly platform: string;
  readonly arch: string;
  /** Resolves a module from a file, like `require.resolve`; throws when the module is missing. */
  resolve(from: string, specifier: string): string;
}

const SUFFIXES: Readonly<Record<string, string>> = {
  "darwin-arm64": "darwin-arm64",
  "darwin-x64": "darwin-amd64",
  "linux-arm64": "linux-arm64",
  "linux-x64": "linux-amd64",
  "win32-x64": "win32-amd64",
};

const THIS_HOST: Host = {
  platform: process.platform,
  arch: process.arch,
  resolve: (from, specifier) => createRequire(from).resolve(specifier),
};

/**
 * Finds anvil: the binary of the platform's npm package, or the wrapper in Node, which also finds a binary from an install script.
 *
 * @throws {@link LocalChainError} when the package is not installed, or does not support this platform
 */
export function locateAnvil(host: Host = THIS_HOST): Executable {
  const suffix = SUFFIXES[`${host.platform}-${host.arch}`];
  if (suffix === undefined) {
    throw new LocalChainError(`anvil has no binary for ${host.platform} on ${host.arch}`);
  }
  const manifest = tryResolve(host, import.meta.url, "@foundry-rs/anvil/package.json");
  if (manifest === undefined) {
    throw new LocalChainError("a local chain needs the package @foundry-rs/anvil, which is not installed");
  }
  const platformManifest = tryResolve(host, manifest, `@foundry-rs/anvil-${suffix}/package.json`);
  if (platformManifest === undefined) {
    return { file: process.execPath, args: [join(dirname(manifest), "bin.mjs")] };
  }
  const name = host.platform === "win32" ? "anvil.exe" : "anvil";
  return { file: join(dirname(platformManifest), "bin", name), args: [] };
}

function tryResolve(host: Host, from: string, specifier: string): string | undefined {
  try {
    return host.resolve(from, specifier);
  } catch {
    return undefined;
  }
}

/** An account of the local chain. Never use one of these keys anywhere else. */
export interface AnvilAccount {
  readonly address: `0x${string}`;
  readonly privateKey: `0x${string}`;
}

/** The ten accounts of every local chain, in the order of anvil. Each has 10,000 ETH and no USDC; their keys are public. */
export const anvilAccounts: readonly AnvilAccount[] = Object.freeze([
  account(
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  ),
  account(
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  ),
  account(
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
  ),
  account(
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
  ),
  account(
    "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
    "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
  ),
  account(
    "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
    "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
  ),
  account(
    "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
    "0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
  ),
  account(
    "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
    "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
  ),
  account(
    "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
    "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
  ),
  account(
    "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
    "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
  ),
]);

function account(address: `0x${string}`, privateKey: `0x${string}`): AnvilAccount {
  return Object.freeze({ address, privateKey });
}
