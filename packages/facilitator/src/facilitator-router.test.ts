import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { ConfigError, type Facilitator } from "@farebox/core";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { facilitatorRouter } from "./facilitator-router.js";
import { parseRouterOptions } from "./options.js";

const facilitator: Facilitator = {
  verify: async () => ({ isValid: false }),
  settle: async () => ({ success: false, transaction: "", network: "" }),
  supported: async () => ({ kinds: [], extensions: [], signers: {} }),
};

describe("options of the router", () => {
  test("router options have defaults", () => {
    expect(parseRouterOptions(facilitator, { open: true })).toEqual({
      limits: { bytes: 65_536, ms: 10_000 },
      logger: undefined,
    });
  });

  test("wrong router options are all named at once", () => {
    const wrong = { open: 1, bodyLimitBytes: 1_023, bodyTimeoutMs: "10s", logger: null, bodyLimit: 1 };
    expect(() => facilitatorRouter({} as Facilitator, wrong as never)).toThrow(ConfigError);
    expect(() => facilitatorRouter({} as Facilitator, wrong as never)).toThrowErrorMatchingInlineSnapshot(`
      [ConfigError: options.bodyLimit: expected a known key: did you mean bodyLimitBytes? Known: open, bodyTimeoutMs, logger, received an unknown key
      options.open: expected a boolean, received 1
      facilitator: expected a facilitator, e.g. createFacilitator(…), received {}
      options.bodyLimitBytes: expected a whole number from 1024 to 10485760, received 1023
      options.bodyTimeoutMs: expected a whole number from 10 to 600000, received "10s"
      options.logger: expected an object with info, warn and error, received something else]
    `);
  });
});

describe("content encodings", () => {
  // A decompressed body could be a thousand times as long as the body that was sent.
  const body = new Uint8Array(gzipSync(`{"x402Version":2${" ".repeat(10_000_000)}}`));
  const BODIES = ["gzip", "br", "deflate", "zstd", "unknown"].map((encoding) => ({ encoding }));

  test.each(BODIES)("a body with the encoding $encoding is refused and never decompressed", async ({ encoding }) => {
    const server = express()
      .use(facilitatorRouter(facilitator, { open: true }))
      .listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/verify`, {
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": encoding },
      body,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: "the body must not be compressed" });
  });
});
