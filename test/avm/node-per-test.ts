/**
 * A new node for each test, with accounts that can pay and be paid, and servers that end with the test.
 *
 * @module
 */
import type { Express } from "express";
import { afterEach, beforeEach } from "vitest";
import { FEE_PAYER, PAY_TO, PAYER, USDC } from "../../packages/avm/src/payments.fixture.js";
import { listen, type Running } from "../interop/servers.js";
import { RICH } from "./ledger.js";
import { LocalAlgod } from "./local-algod.js";

/** The node, and the servers of a test. */
export interface NodePerTest {
  /** The node of the current test. */
  readonly local: LocalAlgod;
  /** Starts a server, and returns its origin. */
  listen(app: Express): Promise<string>;
}

/** Starts a node before each test of a file. */
export function nodePerTest(): NodePerTest {
  let local: LocalAlgod;
  let servers: Running[] = [];

  beforeEach(async () => {
    local = await LocalAlgod.start();
    for (const address of [PAYER.addr, FEE_PAYER.addr]) local.ledger.give(address, RICH);
    local.ledger.give(PAYER.addr, 5_000n, USDC);
    local.ledger.give(PAY_TO, 0n, USDC);
  });

  afterEach(async () => {
    for (const server of servers) await server.close();
    servers = [];
    await local.close();
  });

  return {
    get local() {
      return local;
    },
    async listen(app) {
      const server = await listen(app);
      servers.push(server);
      return server.url;
    },
  };
}
