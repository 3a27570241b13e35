/**
 * The bridge: an MCP server on stdin and stdout, whose tools call paid endpoints. Only MCP messages may go to stdout.
 *
 * @module
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Budget, BudgetError } from "./budget.js";
import { createCatalogTools } from "./catalog.js";
import { ArgumentError, type CallArguments, nameOf } from "./endpoint.js";
import { Buyer, PurchaseError } from "./payment.js";
import { readSettings, type Settings, SettingsError } from "./settings.js";
import { type BridgeTool, createEndpointTool, fail } from "./tools.js";

const ANNOTATIONS = { openWorldHint: true, idempotentHint: false };

try {
  const settings = await readSettings(process.env);
  const budget = Budget.open(settings.budgetFile, settings.maxTotal);
  const buyer = await Buyer.create(settings, budget);
  await createBridge(settings, budget, buyer).connect(new StdioServerTransport());
} catch (error) {
  const isExpected = error instanceof SettingsError || error instanceof BudgetError;
  process.stderr.write(`${isExpected ? error.message : "The bridge could not be started."}\n`);
  process.exitCode = 1;
}

function createBridge(settings: Settings, budget: Budget, buyer: Buyer): Server {
  const server = new Server(
    { name: "farebox-mcp-bridge", version: "0.1.0" },
    { capabilities: { tools: { listChanged: true } } },
  );
  const tools = new Map<string, BridgeTool>();
  for (const place of settings.endpoints) {
    const name = nameOf(place, new Set(tools.keys()));
    tools.set(
      name,
      createEndpointTool(name, place, buyer, () => server.sendToolListChanged()),
    );
  }
  if (settings.catalog !== undefined) {
    for (const tool of createCatalogTools(settings.catalog, buyer)) tools.set(tool.name, tool);
  }
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const list = [...tools.values()].map(async (tool) => ({
      name: tool.name,
      annotations: ANNOTATIONS,
      ...(await tool.describe()),
    }));
    return JSON.parse(settings.redact(JSON.stringify({ tools: await Promise.all(list) })));
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools.get(params.name);
    const result =
      tool === undefined ? fail("there is no such tool") : await callSafely(tool, params.arguments, signal);
    const content = [...result.content, { type: "text", text: describeBudget(budget) }] as const;
    return JSON.parse(settings.redact(JSON.stringify({ ...result, content })));
  });
  return server;
}

async function callSafely(tool: BridgeTool, args: CallArguments = {}, signal: AbortSignal): Promise<CallToolResult> {
  try {
    return await tool.call(args, signal);
  } catch (error) {
    const isExpected = [ArgumentError, PurchaseError, BudgetError].some((kind) => error instanceof kind);
    if (error instanceof ArgumentError) return fail(`${error.message}. Nothing was paid.`);
    return fail(isExpected ? (error as Error).message : `the call failed: ${(error as Error).name}`);
  }
}

function describeBudget(budget: Budget): string {
  try {
    return budget.describe();
  } catch (error) {
    return (error as Error).message;
  }
}
