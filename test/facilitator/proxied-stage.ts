/**
 * A stage whose node can fail, for all tests of a file.
 *
 * @module
 */
import type { SettlementResponse } from "@farebox/core";
import { afterAll, afterEach, expect } from "vitest";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.js";
import { openStage, type Stage } from "./stage.js";

/** Opens it until the tests of the file are over. After each test the node responds normally again, and mines blocks. */
export async function openProxiedStage(): Promise<{ readonly stage: Stage; readonly proxy: RpcProxy }> {
  const stage = await openStage();
  const proxy = await startRpcProxy(stage.chain.rpcUrl);
  afterEach(async () => {
    proxy.decide(() => "pass");
    await stage.chain.resumeMining();
  });
  afterAll(async () => {
    await proxy.close();
    await stage.close();
  });
  return { stage, proxy };
}

/** Matches a success with its transaction. */
export function expectPaid(response: SettlementResponse | undefined): void {
  expect(response).toMatchObject({ success: true, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
}
