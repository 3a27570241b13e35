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
import { Network } from "./wire.js";

export interface Stage {
  readonly kind: Kind;
  readonly warehouse: Warehouse;
  readonly network: Network;
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
  const network = new Network();
  const places = Array.from({ length: kind === "memory" ? 1 : 2 }, () => new Place(network));
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
  for (const { url } of servers) await network.find(`${url}/supported`);
  const agent = new Agent({ keepAlive: true });
  return {
    kind,
    warehouse,
    network,
    places,
    agent,
    servers,
    putBehind(facilitator) {
      behind = facilitator;
    },
    async close() {
      agent.destroy();
      network.close();
      for (const server of servers) await server.close();
      await warehouse.close();
    },
  };
}
