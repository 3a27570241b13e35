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
import { HOSTILE, type TurnStep } from "./plan.js";
import { createTime, type Time } from "./time.js";

export interface Stage {
  readonly express: (typeof VERSIONS)[number][1];
  readonly time: Time;
  readonly facilitator: TestFacilitator;
  readonly servers: readonly FacilitatorServer[];
  readonly payers: readonly Payer[];
  /** From now on each settlement of the hostile payer fails. */
  turnHostile(how: TurnStep["how"]): void;
  /** No payer is hostile any more. */
  reconcile(): void;
  /** Another one for every payment. */
  nextNonce(): `0x${string}`;
  close(): Promise<void>;
}

/** Sets the stage. */
export async function openStage(express: Stage["express"]): Promise<Stage> {
  const time = createTime();
  const facilitator = createTestFacilitator({ now: time.now });
  let hostility: TurnStep["how"] | undefined;
  const exposed: TestFacilitator = {
    ...facilitator,
    async settle(request) {
      const { authorization } = request.paymentPayload.payload as { readonly authorization: { readonly from: string } };
      const isHostile = hostility !== undefined && authorization.from === payers[HOSTILE]?.address;
      if (!isHostile) return facilitator.settle(request);
      if (hostility === "loses its answer") await facilitator.settle(request);
      throw new RangeError("a poisonous payment");
    },
  };
  const servers = await Promise.all([1, 2].map(() => startFacilitatorServer({ facilitator: exposed })));
  const payers = [1, 2, 3].map((key) => createPayer({ privateKey: `0x${String(key).padStart(64, "0")}` }));
  for (const { address } of payers) facilitator.ledger.fund(address, 10n ** 15n);
  let nonces = 0;
  return {
    express,
    time,
    facilitator,
    servers,
    payers,
    turnHostile(how) {
      hostility = how;
    },
    reconcile() {
      hostility = undefined;
    },
    nextNonce: () => `0x${(++nonces).toString(16).padStart(64, "0")}`,
    async close() {
      for (const server of servers) await server.close();
    },
  };
}
