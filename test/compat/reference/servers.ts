/**
 * Starts the reference's example servers in this process: as they are, and with their imports changed by `farebox migrate`.
 *
 * They are the authors' files. This is done to them, and only when they are put together: TypeScript is removed, `dotenv` reads nothing,
 * the packages for Stellar and Aptos, which no registry has at that version, are replaced by classes that cannot be created, and the
 * servers that name their facilitator or their node get the local one.
 *
 * @module
 */
import { readFile, rm } from "node:fs/promises";
import { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { migrate } from "farebox";
import { vi } from "vitest";
import { CACHE } from "../../scripts/fetch-reference.mjs";

/** What the imports of a server lead to. */
export type Side = "reference" | "depth 1" | "depth 2";

/** A server that runs. */
export interface ExampleServer {
  readonly url: string;
  /** The first word that each `console.log` said. */
  readonly logged: readonly string[];
  close(): Promise<void>;
}

let count = 0;

/** Starts one. Its port is free whatever port the file names. */
export async function startExample(
  folder: string,
  path: string,
  side: Side,
  env: Readonly<Record<string, string>>,
): Promise<ExampleServer> {
  const file = join(CACHE, "run", `${process.pid}-${count++}.mjs`);
  await build({
    entryPoints: [join(folder, path)],
    outfile: file,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "silent",
    plugins: [importsOf(side, env)],
  });
  const logged: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((first) => void logged.push(String(first)));
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    const server = await listeningServerOf(() => import(pathToFileURL(file).href));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      logged,
      close: () =>
        new Promise((closed) => {
          log.mockRestore();
          server.close(() => closed());
          server.closeAllConnections();
        }),
    };
  } finally {
    vi.unstubAllEnvs();
    await rm(file, { force: true });
  }
}

/** The server that a module starts, on a free port instead of its own. */
async function listeningServerOf(load: () => Promise<unknown>): Promise<Server> {
  const { listen } = Server.prototype;
  const listening = new Promise<Server>((resolve) => {
    Server.prototype.listen = function (this: Server, ...args: unknown[]) {
      const callback = args.find((each) => typeof each === "function") as (() => void) | undefined;
      return listen.call(this, { port: 0, host: "127.0.0.1" } as never, () => {
        callback?.();
        resolve(this);
      });
    } as typeof listen;
  });
  try {
    const [server] = await Promise.all([listening, load()]);
    return server;
  } finally {
    Server.prototype.listen = listen;
  }
}

function importsOf(side: Side, env: Readonly<Record<string, string>>): Plugin {
  const localize = (source: string) =>
    source
      .replace("https://x402.org/facilitator", env["FACILITATOR_URL"] ?? "")
      .replace("transport: http()", `transport: http(${JSON.stringify(env["RPC_URL"])})`);
  return {
    name: "imports",
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^dotenv$/ }, () => ({ path: "dotenv", namespace: "nothing" }));
      onResolve({ filter: /^@x402\/(stellar|aptos)/ }, ({ path }) => ({ path, namespace: "absent" }));
      onResolve({ filter: /^[^./]/ }, ({ path, kind }) => (kind === "entry-point" ? null : { path, external: true }));
      onLoad({ filter: /.*/, namespace: "nothing" }, () => ({
        contents: "export function config() {} export default { config };",
      }));
      onLoad({ filter: /.*/, namespace: "absent" }, ({ path }) => ({
        contents: `class Absent { constructor() { throw new Error(${JSON.stringify(`${path} is not installed`)}); } }
          export { Absent as ExactStellarScheme, Absent as ExactAptosScheme };`,
      }));
      onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
        contents: localize(await sourceOf(path, side)),
        loader: "ts",
      }));
    },
  };
}

/** A file with the imports of a side. */
async function sourceOf(path: string, side: Side): Promise<string> {
  const source = await readFile(path, "utf8");
  if (side === "reference") return source;
  const migration = migrate(source, { depth: side === "depth 1" ? 1 : 2 });
  if ("message" in migration) throw new Error(`${path}:${migration.line}: ${migration.message}`);
  return migration.text;
}
