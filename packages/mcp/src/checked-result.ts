/**
 * What a handler returns, looked at before it is charged for: the SDK looks only afterwards.
 *
 * @module
 */
import { isJsonObject } from "@farebox/core";
import type { RegisteredTool } from "@modelcontextprotocol/sdk/server/mcp.js";
import { getParseErrorMessage, safeParseAsync } from "@modelcontextprotocol/sdk/server/zod-compat.js";
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { toErrorResult } from "./tool-answer.js";

/** Yields the result as it will be sent; an error in its place when no client could read it. */
export async function checkResult(
  value: unknown,
  outputSchema: RegisteredTool["outputSchema"],
): Promise<CallToolResult> {
  const written = write(value);
  const read = CallToolResultSchema.safeParse(written);
  if (!isJsonObject(written) || !read.success) return wrong("it is no result of a tool");
  const result = { ...written, content: read.data.content };
  if (outputSchema === undefined || read.data.isError === true) return result;
  if (read.data.structuredContent === undefined) return wrong("it has no structured content");
  const parsed = await safeParseAsync(outputSchema, read.data.structuredContent);
  return parsed.success ? result : wrong(getParseErrorMessage(parsed.error));
}

/** What JSON makes of it, for nothing else is sent. */
function write(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null");
  } catch {
    return undefined;
  }
}

function wrong(why: string): CallToolResult {
  return toErrorResult(`Output validation error: ${why}. Nothing was charged.`);
}
