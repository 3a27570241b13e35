/**
 * The paid MCP tools of a server, as the documents name them.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import type { DescribedTool } from "@farebox/core/adapter";
import { BAZAAR, type BazaarDeclaration, type McpInput, outputSchemaOf } from "../declaration.js";
import { moveSchema } from "../declare/json-schema.js";
import { declarationOf, toAccepts } from "./declared.js";

/** A tool with its declaration. */
export interface DeclaredTool {
  readonly tool: DescribedTool;
  readonly declared: BazaarDeclaration;
  readonly input: McpInput;
}

/** The tools that are declared. The documents cannot say how to call any other. */
export function declaredTools(tools: readonly DescribedTool[]): readonly DeclaredTool[] {
  return tools.flatMap((tool) => {
    const declared = declarationOf(tool);
    if (declared?.info.input.type !== "mcp") return [];
    return [{ tool, declared, input: declared.info.input as McpInput }];
  });
}

/** Writes a tool as an entry of a catalog. */
export function toToolItem({ tool, declared, input }: DeclaredTool): JsonObject {
  const { url, serverUrl, description, mimeType, service, offers } = tool;
  return {
    resource: url,
    ...(serverUrl === undefined ? {} : { serverUrl }),
    type: "mcp",
    toolName: input.toolName,
    description,
    mimeType,
    ...service,
    inputSchema: input.inputSchema,
    accepts: toAccepts(offers),
    extensions: { [BAZAAR]: declared },
  };
}

/** The tools in an OpenAPI document. Its paths cannot name them: all tools of a server have one URL and method. */
const MCP_TOOLS = "x-mcp-tools";

/** Writes the tools as a part of an OpenAPI document, in which every reference resolves. */
export function describeTools(tools: readonly DescribedTool[]): JsonObject {
  const known = declaredTools(tools);
  if (known.length === 0) return {};
  return {
    [MCP_TOOLS]: known.map(({ tool, declared, input }, at) => {
      const { toolName, transport = "streamable-http", inputSchema, example } = input;
      const outputSchema = outputSchemaOf(declared.schema);
      const { description, url, serverUrl, offers } = tool;
      return {
        ...{ toolName, description, resource: url, transport },
        ...(serverUrl === undefined ? {} : { serverUrl }),
        inputSchema: moveSchema(inputSchema, `#/${MCP_TOOLS}/${at}/inputSchema`),
        ...(example === undefined ? {} : { example }),
        ...(outputSchema === undefined || hasReferences(outputSchema) ? {} : { outputSchema }),
        accepts: toAccepts(offers),
      };
    }),
  };
}

/** They point into the declaration, which is not in the document. */
function hasReferences(schema: JsonObject): boolean {
  return JSON.stringify(schema).includes('"$ref"');
}
