/**
 * Every example has a client that asserts what the example is about; its exit code tells.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const EXAMPLES = new URL("../../examples/", import.meta.url).pathname;
const stories = readdirSync(EXAMPLES).filter((name) => existsSync(`${EXAMPLES}${name}/client.ts`) && name !== "demo");

/** Stories in which a settlement fails on purpose. Without a logger, that is on stderr. */
const PRINTS: Readonly<Record<string, RegExp>> = {
  "mcp-bridge": /^\[farebox\] price_above_client_limit · [^\n]*\n$/,
  observed: /^(\{"time":"[^"]+","level":"(warn|error)","name":"farebox",[^\n]+\}\n)+$/,
  "testing-your-app":
    /^\[farebox\] settlement_unknown · [^\n]* \(ECONNRESET\) · facilitator-1\n\[farebox\] settlement_recovered · [^\n]*\n$/,
  // The receiver is away.
  webhooks: /^(\[farebox\] priced · [^\n]*\n)*(\[farebox\] hook_failed · onSettled webhooks · [^\n]*\n)+$/,
};

/** Each of them starts several processes. */
const LIMIT_MS = 300_000;

test.concurrent.each(stories)(
  "examples/%s does what it says",
  async (story) => {
    const client = spawn(process.execPath, [`${EXAMPLES}${story}/dist/client.js`], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    // Its processes have its output, too: none of them is left when that ends.
    const [[code], , err] = await Promise.all([once(client, "close"), text(client.stdout), text(client.stderr)]);
    expect(err).toMatch(PRINTS[story] ?? /^$/);
    expect(code).toBe(0);
  },
  LIMIT_MS,
);
