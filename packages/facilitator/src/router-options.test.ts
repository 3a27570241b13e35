import { ConfigError, type Facilitator } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { facilitatorRouter } from "./facilitator-router.js";
import { parseRouterOptions } from "./router-options.js";

const facilitator: Facilitator = {
  verify: async () => ({ isValid: false }),
  settle: async () => ({ success: false, transaction: "", network: "" }),
  supported: async () => ({ kinds: [], extensions: [], signers: {} }),
};

describe("options of the router", () => {
  test("have defaults", () => {
    expect(parseRouterOptions(facilitator, {})).toEqual({ limits: { bytes: 65_536, ms: 10_000 }, logger: undefined });
  });

  test("that are wrong are all named at once", () => {
    const wrong = { bodyLimitBytes: 1_023, bodyTimeoutMs: "10s", logger: null, bodyLimit: 1 };
    expect(() => facilitatorRouter({} as Facilitator, wrong as never)).toThrow(ConfigError);
    expect(() => facilitatorRouter({} as Facilitator, wrong as never)).toThrowErrorMatchingInlineSnapshot(`
      [ConfigError: options.bodyLimit: expected one of the keys bodyLimitBytes, bodyTimeoutMs, logger, received an unknown key
      facilitator: expected a facilitator, e.g. createFacilitator(…), received {}
      options.bodyLimitBytes: expected a whole number from 1024 to 10485760, received 1023
      options.bodyTimeoutMs: expected a whole number from 10 to 600000, received "10s"
      options.logger: expected an object with info, warn and error, received something else]
    `);
  });
});
