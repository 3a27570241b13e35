/**
 * Starts the bridge on stdin and stdout. Only MCP messages may go to stdout.
 *
 * @module
 */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createBridge } from "./bridge.js";
import { Budget, BudgetError } from "./budget.js";
import { readSettings, SettingsError } from "./settings.js";

try {
  const settings = await readSettings(process.env);
  const budget = Budget.open(settings.budgetFile, settings.maxTotal);
  await createBridge(settings, budget).connect(new StdioServerTransport());
} catch (error) {
  const isExpected = error instanceof SettingsError || error instanceof BudgetError;
  process.stderr.write(`${isExpected ? error.message : "The bridge could not be started."}\n`);
  process.exitCode = 1;
}
