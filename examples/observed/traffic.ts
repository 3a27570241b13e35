/**
 * Clients of the app: some pay, some only look, some have no money, and the facilitator is not always well.
 *
 * @module
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createPayer, createTestFacilitator, type Payer, pay } from "@farebox/testing";
import { type Apps, createApps } from "./server.js";

/** A running shop, and those who come to it. */
export interface Market extends Apps {
  readonly outsideUrl: string;
  readonly insideUrl: string;
  /** Sends one round of requests. */
  visit(): Promise<void>;
  close(): void;
}

/** Opens the shop on two free ports. */
export async function openMarket(): Promise<Market> {
  const facilitator = createTestFacilitator();
  const apps = createApps(facilitator);
  const servers = await Promise.all([apps.outside, apps.inside].map((app) => listen(app)));
  const [outsideUrl, insideUrl] = servers.map(urlOf) as [string, string];
  const rich = createPayer();
  const poor = createPayer();
  facilitator.ledger.fund(rich.address, 1_000_000_000n);
  const ask = (path: string, payer?: Payer) => pay(outsideUrl, { path, ...(payer && { payer }) });

  async function visit(): Promise<void> {
    await ask("/weather");
    await ask("/weather", rich);
    await ask("/weather", rich);
    await ask("/report", rich);
    await ask("/report", poor);
    facilitator.faults.next("verify", { kind: "status", status: 500 });
    await ask("/weather", rich);
  }

  return {
    ...apps,
    ...{ outsideUrl, insideUrl, visit },
    close() {
      for (const server of servers) server.close();
      void apps.payments.close();
    },
  };
}

function listen(app: Apps["outside"]): Promise<Server> {
  return new Promise((resolve) => {
    const server = app.listen(0, "127.0.0.1", () => resolve(server));
  });
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
