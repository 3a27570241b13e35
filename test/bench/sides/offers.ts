/**
 * What the priced routes ask for, on both sides that price them.
 *
 * @module
 */
import { KEYS, type Plan } from "../plan.js";

/** Networks of the offers, the one that is paid on first. */
export const NETWORKS = ["eip155:84532", "eip155:8453", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"] as const;

/** Pays Solana's fees. */
export const FEE_PAYER = "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd";

const EVM_PAYEE = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const SVM_PAYEE = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";

/** The table of routes, in the form that both sides take. */
export function routesOf({ offers, fillers }: Plan): Record<string, ReturnType<typeof routeOf>> {
  const route = routeOf(offers);
  const keys = Array.from({ length: fillers }, (_, at) => (at % 2 === 0 ? `GET /item-${at}/:id` : `GET /list-${at}`));
  return Object.fromEntries([...KEYS, ...keys].map((key) => [key, route]));
}

function routeOf(offers: Plan["offers"]) {
  const accepts = NETWORKS.slice(0, offers).map((network) => ({
    scheme: "exact" as const,
    price: "$0.001" as const,
    network,
    payTo: network.startsWith("solana:") ? SVM_PAYEE : EVM_PAYEE,
  }));
  return { accepts, description: "The weather, now", mimeType: "application/json", extensions: extensionsOf(offers) };
}

/** Discovery, as the reference's helper writes it for a GET with one parameter. */
function extensionsOf(offers: Plan["offers"]): Record<string, Record<string, unknown>> {
  if (offers === 1) return {};
  const input = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  return {
    bazaar: {
      info: {
        input: { type: "http", method: "GET", queryParams: { city: "Oslo" } },
        output: { type: "json", example: { weather: "sunny" } },
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
              queryParams: input,
            },
            required: ["type", "method"],
            additionalProperties: false,
          },
          output: {
            type: "object",
            properties: {
              type: { type: "string" },
              example: { type: "object", properties: { weather: { type: "string" } } },
            },
            required: ["type"],
          },
        },
        required: ["input"],
      },
    },
  };
}
