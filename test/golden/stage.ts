/**
 * What all sequences of a kind are played on, one after the other: servers, connections and a store.
 *
 * @module
 */
import { Agent } from "node:http";
import type { Facilitator } from "@farebox/core";
import { type FacilitatorServer, startFacilitatorServer } from "@farebox/testing";
import type { Kind } from "./plan.js";
import { Place } from "./seller.js";
import { openWarehouse, type Warehouse } from "./stores.js";

export interface Stage {
  readonly kind: Kind;
  readonly warehouse: Warehouse;
  /** One for each process. */
  readonly places: readonly Place[];
  readonly agent: Agent;
  /** Facilitators behind HTTP, which ask whatever is behind them at the time. */
  readonly servers: readonly FacilitatorServer[];
  putBehind(facilitator: Facilitator): void;
  close(): Promise<void>;
}

export async function openStage(kind: Kind): Promise<Stage> {
  const warehouse = await openWarehouse(kind);
  const places = kind === "memory" ? [new Place()] : [new Place(), new Place()];
  for (const place of places) await place.open();
  let behind: Facilitator | undefined;
  const asked = (): Facilitator => {
    if (behind === undefined) throw new Error("no sequence is played");
    return behind;
  };
  const facilitator: Facilitator = {
    verify: (request, options) => asked().verify(request, options),
    settle: (request, options) => asked().settle(request, options),
    supported: (options) => asked().supported(options),
  };
  const servers = kind === "memory" ? await Promise.all([1, 2].map(() => startFacilitatorServer({ facilitator }))) : [];
  const agent = new Agent({ keepAlive: true });
  return {
    kind,
    warehouse,
    places,
    agent,
    servers,
    putBehind(facilitator) {
      behind = facilitator;
    },
    async close() {
      agent.destroy();
      for (const place of places) place.close();
      for (const server of servers) await server.close();
      await warehouse.close();
    },
  };
}
