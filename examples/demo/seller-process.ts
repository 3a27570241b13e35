/**
 * One of several processes of the seller: `fork` with {@link SellerSettings} as JSON.
 *
 * @module
 */
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { sqliteStore } from "@farebox/stores/sqlite";
import Database from "libsql";
import { createSeller } from "./seller.js";

/** The settings of a process. */
export interface SellerSettings {
  readonly payTo: `0x${string}`;
  readonly facilitatorUrl: string;
  /** The file of the payments. */
  readonly file: string;
  readonly name: string;
}

/** What a process sends: that it listens, or that its handler has run and the payment settles. */
export type SellerMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "ran"; readonly name: string };

const { payTo, facilitatorUrl, file, name }: SellerSettings = JSON.parse(process.argv[2] ?? "");
const store = sqliteStore(new Database(file));
const send = (message: SellerMessage) => void process.send?.(message);
const hooks = {
  // As if the handler took its time, so that each process gets the payment before it settles.
  afterVerify: () => delay(500),
  beforeSettle: () => send({ kind: "ran", name }),
};
const server = createSeller(payTo, facilitatorUrl, { store, hooks }).listen(0, "127.0.0.1", () => {
  send({ kind: "listening", port: (server.address() as AddressInfo).port });
});
process.on("disconnect", () => process.exit());
