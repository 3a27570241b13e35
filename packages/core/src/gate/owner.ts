/**
 * Names for runs: each claim has an owner, of which there is no second one in any process.
 *
 * @module
 */
import { randomUUID } from "node:crypto";

/** With a UUID of its own for each run, a payment on record would take half a kilobyte more: Node makes one of twenty pieces. */
const PROCESS = `${randomUUID()}-`;

let runs = 0;

/** Names a run. */
export function nextOwner(): string {
  return PROCESS + ++runs;
}
