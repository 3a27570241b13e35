/**
 * Starts the bridge on stdin and stdout. Only MCP messages may go to stdout.
 *
 * @module
 */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createBridge } from "./bridge.js";
import { readSettings, SettingsError } from "./settings.js";

try {
  await createBridge(await readSettings(process.env)).connect(new StdioServerTransport());
} catch (error) {
  process.stderr.write(`${error instanceof SettingsError ? error.message : "The bridge could not be started."}\n`);
  process.exitCode = 1;
}
