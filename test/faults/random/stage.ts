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
  /** What the facilitators got that no scheme has read, since this was last asked. */
  takeStrange(): readonly string[];
  /** Another one for every payment. */
  nextNonce(): `0x${string}`;
  close(): Promise<void>;
}

/** All that the scheme reads, in its order. */
const READ = "signature authorization from to value validAfter validBefore nonce";

/** Whether a payload is one that the scheme has written: no other fields, and no hex digits that are all in upper case. */
function isCanonical(payload: object): boolean {
  const names: string[] = [];
  const texts: unknown[] = [];
  JSON.stringify(payload, (name, value) => {
    if (name !== "") names.push(name);
    if (typeof value !== "object") texts.push(value);
    return value;
  });
  return names.join(" ") === READ && !texts.some((text) => /^0x(?=.*[A-F])[0-9A-F]+$/.test(String(text)));
}

/** Sets the stage. */
export async function openStage(express: Stage["express"]): Promise<Stage> {
  const time = createTime();
  const facilitator = createTestFacilitator({ now: time.now });
  let hostility: TurnStep["how"] | undefined;
  const strange: string[] = [];
  const look = (payload: object) => {
    if (isCanonical(payload)) return;
    strange.push(`[3] a facilitator got what no scheme has read: ${JSON.stringify(payload)}`);
    // As the reference's facilitator does.
    throw new TypeError("a payload with something else");
  };
  const exposed: TestFacilitator = {
    ...facilitator,
    async verify(request) {
      look(request.paymentPayload.payload);
      return facilitator.verify(request);
    },
    async settle(request) {
      look(request.paymentPayload.payload);
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
    takeStrange: () => strange.splice(0),
    nextNonce: () => `0x${(++nonces).toString(16).padStart(64, "0")}`,
    async close() {
      for (const server of servers) await server.close();
    },
  };
}
