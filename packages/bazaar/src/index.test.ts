import { expect, test } from "vitest";
import * as bazaar from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(bazaar).sort()).toMatchInlineSnapshot(`
    [
      "DiscoveryError",
      "PRICE_LIMITS",
      "affordable",
      "bazaarExtension",
      "createDiscoveryClient",
      "hasIdentifier",
      "networkName",
      "readToolSchema",
      "stablecoinOf",
      "toolIdentifier",
      "writeLlmsTxt",
      "writeOpenApi",
      "writeWellKnown",
    ]
  `);
});
