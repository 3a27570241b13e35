/**
 * What every sequence is played on: facilitators that share one ledger, payers with money, a clock.
 *
 * @module
 */
import {
  createPayer,
  createTestFacilitator,
  type FacilitatorServer,
  type Payer,
  startFacilitatorServer,
  type TestFacilitator,
} from "@farebox/testing";
import type { VERSIONS } from "../../express/shop.js";
import { createTime, type Time } from "./time.js";

export interface Stage {
  readonly express: (typeof VERSIONS)[number][1];
  readonly time: Time;
  readonly facilitator: TestFacilitator;
  readonly servers: readonly FacilitatorServer[];
  readonly payers: readonly Payer[];
  /** Another one for every payment. */
  nextNonce(): `0x${string}`;
  close(): Promise<void>;
}

/** Sets the stage. */
export async function openStage(express: Stage["express"]): Promise<Stage> {
  const time = createTime();
  const facilitator = createTestFacilitator({ now: time.now });
  const servers = [await startFacilitatorServer({ facilitator }), await startFacilitatorServer({ facilitator })];
  const payers = [1, 2, 3].map((key) => createPayer({ privateKey: `0x${String(key).padStart(64, "0")}` }));
  for (const { address } of payers) facilitator.ledger.fund(address, 10n ** 15n);
  let nonces = 0;
  return {
    express,
    time,
    facilitator,
    servers,
    payers,
    nextNonce: () => `0x${(++nonces).toString(16).padStart(64, "0")}`,
    async close() {
      for (const server of servers) await server.close();
    },
  };
}
