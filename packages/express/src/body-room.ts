/**
 * The memory for bodies that are read ahead of their payments.
 *
 * A body is read before its payment is verified, since the payment is bound to it. So payments that may be worth nothing get half of the
 * memory, and one source gets a quarter.
 *
 * @module
 */
import { networkOf } from "@farebox/core/adapter";
import type { Request } from "express";

const MIB = 1024 * 1024;

/** How much of one body is read ahead. A longer one has to be parsed before the payments. */
export const MAX_BODY_BYTES: number = 16 * MIB;

/** How much of all bodies together is kept in memory at a time. */
const MAX_TOTAL_BYTES: number = 64 * MIB;

/** How much of that is for payments that nobody has verified. Beyond, the facilitator is asked before a body is read. */
export const MAX_UNVERIFIED_BYTES: number = 32 * MIB;

/** How much one source gets. */
const MAX_SOURCE_BYTES: number = 16 * MIB;

/** How long one body may take. */
export const BODY_MS = 60_000;

/** How many bytes are kept for all requests, beyond what Node would keep by itself. */
let totalBytes = 0;
let unverifiedBytes = 0;

/** The same by source. */
const sourceBytes = new Map<string, number>();

/** The part of one request. It is given back when the request or its response has ended. */
export class Room {
  readonly #req: Request;
  /** `undefined`: the connection comes from a private address, such as that of a proxy. */
  readonly #source: string | undefined;
  #isVerified = false;
  #bytes = 0;

  /** @param client - The client's address, if it is certain. */
  constructor(req: Request, client: string | undefined) {
    this.#req = req;
    // A client may write headers that make its address uncertain. The connection comes from one place all the same.
    this.#source = networkOf(client ?? req.socket.remoteAddress);
  }

  /** Whether there is no room for such a body before its payment is verified. */
  needsProof(length: number): boolean {
    const size = Math.min(length, MAX_BODY_BYTES) - this.#req.readableHighWaterMark;
    return !this.#isVerified && size > 0 && unverifiedBytes + size > MAX_UNVERIFIED_BYTES;
  }

  verified(): void {
    this.#isVerified = true;
  }

  /** Makes room for a body of this size. `false`: no room is left. A body that Node would read ahead anyway needs no room. */
  grow(size: number): boolean {
    const more = size - this.#req.readableHighWaterMark - this.#bytes;
    if (more <= 0) return true;
    if (totalBytes + more > MAX_TOTAL_BYTES) return false;
    if (!this.#isVerified && unverifiedBytes + more > MAX_UNVERIFIED_BYTES) return false;
    if (this.#source !== undefined && (sourceBytes.get(this.#source) ?? 0) + more > MAX_SOURCE_BYTES) return false;
    if (this.#bytes === 0) {
      this.#req.once("close", this.#giveBack);
      this.#req.res?.once("close", this.#giveBack);
    }
    this.#count(more);
    return true;
  }

  #count(more: number): void {
    this.#bytes += more;
    totalBytes += more;
    if (!this.#isVerified) unverifiedBytes += more;
    if (this.#source === undefined) return;
    const bytes = (sourceBytes.get(this.#source) ?? 0) + more;
    if (bytes === 0) sourceBytes.delete(this.#source);
    else sourceBytes.set(this.#source, bytes);
  }

  readonly #giveBack = (): void => {
    this.#count(-this.#bytes);
    this.#req.off("close", this.#giveBack);
    this.#req.res?.off("close", this.#giveBack);
  };
}
