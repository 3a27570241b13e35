/**
 * Requests of a facilitator whose payment has a declaration.
 *
 * @module
 */
/** A declaration of `GET`, as it crosses the wire. */
export const DECLARATION = {
  info: {
    input: { type: "http", method: "GET", queryParams: { city: "Paris" } },
    output: { type: "json", example: {} },
  },
  schema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      input: {
        type: "object",
        properties: {
          type: { type: "string", const: "http" },
          method: { type: "string", enum: ["GET"] },
          queryParams: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
        required: ["type", "method"],
        additionalProperties: false,
      },
    },
    required: ["input"],
  },
};

/** A declaration of an MCP tool. */
export const TOOL_DECLARATION = {
  info: {
    input: {
      type: "mcp",
      toolName: "add",
      description: "Adds two numbers",
      inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
    },
  },
  schema: { type: "object", properties: { input: { type: "object", required: ["type", "toolName"] } } },
};

export const TERMS = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "1000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
};

export const RESOURCE = {
  url: "https://api.example.com/weather?city=Paris#top",
  description: "Weather for a city",
  mimeType: "application/json",
};

/** What may be otherwise in a request. */
export interface RequestChanges {
  readonly bazaar?: unknown;
  readonly resource?: unknown;
  readonly terms?: unknown;
  readonly accepted?: unknown;
}

/** A request to verify or settle, as a stranger may have written it; what is not given is in order. */
export function requestWith(changes: RequestChanges = {}) {
  const { bazaar = DECLARATION, resource = RESOURCE, terms = TERMS, accepted = terms } = changes;
  const paymentPayload = { x402Version: 2, accepted, payload: {}, resource, extensions: { bazaar } };
  return { x402Version: 2, paymentPayload, paymentRequirements: terms };
}
