/**
 * The identifier of an MCP tool, `mcp://tool/<name>`: the resource of a tool that does not say where its server is.
 *
 * Sellers write it and catalogs compare it as text, so a tool has one identifier and no other spelling of it.
 *
 * @module
 */

/** The names of tools in MCP. Any other character has a twin that looks like it, or needs an encoding. */
const NAME = /^[A-Za-z0-9._-]{1,128}$/;

/** Whether a tool of this name has an identifier. */
export function hasIdentifier(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name);
}

/** The identifier of the tool. */
export function toolIdentifier(name: string): string {
  return `mcp://tool/${name}`;
}

/**
 * Why an `mcp:` URL does not name the tool, as the end of a sentence about the URL.
 *
 * @param toolName - `""` for what is no tool.
 */
export function problemOfIdentifier(url: string, toolName: string): string | undefined {
  if (toolName === "") return "is an mcp: URL, which is only for an MCP tool";
  if (!hasIdentifier(toolName))
    return "names a tool by other characters than letters, digits and _ - .; such a tool needs the URL of its MCP server";
  const identifier = toolIdentifier(toolName);
  return url === identifier ? undefined : `is not ${identifier}, the only identifier of the tool that is declared`;
}
