#!/usr/bin/env node
/**
 * The command `farebox`.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { COMMANDS } from "./commands.js";
import { runCommandLine } from "./frame/run.js";
import { Terminal } from "./frame/terminal.js";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};
const { stdout, stderr, env } = process;

// Whoever reads the output may stop, as `head` does.
for (const stream of [stdout, stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
}

const code = await runCommandLine(process.argv.slice(2), {
  commands: COMMANDS,
  version,
  terminal: new Terminal({ stdout, stderr, env }),
  env,
  onInterrupt(listener) {
    process.on("SIGINT", listener).on("SIGTERM", listener);
    return () => void process.off("SIGINT", listener).off("SIGTERM", listener);
  },
});
// Connections that are kept alive would hold the process.
stdout.write("", () => stderr.write("", () => process.exit(code)));
