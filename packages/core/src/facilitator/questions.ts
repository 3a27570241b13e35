/**
 * What a facilitator is asked when calls fail, so that nobody's payments alone count against it.
 *
 *   isAlive   before it is paused: about the last payment that it found good. Any valid response means that it is alive
 *   isGood    when it fails to settle a payment that nobody verified: whether the payment is good. Otherwise the failure is the payment's
 *
 * @module
 */
import { FacilitatorError, type FacilitatorErrorCode } from "../errors.js";
import type { VerifyResponse } from "../protocol/documents.js";
import type { FacilitatorRequest } from "./facilitator.js";
import { readSupportedResponse, readVerifyResponse, unreadable } from "./http-responses.js";

/** With these statuses a server refuses one request, and works otherwise. */
export const REFUSES_ONE_REQUEST: readonly (number | undefined)[] = [400, 402, 406, 409, 410, 413, 414, 415, 422, 431];

/** The facilitator that is asked: with time limits, and in its own spelling. */
export interface Asked {
  verify(request: FacilitatorRequest): Promise<unknown>;
  supported(): Promise<unknown>;
  /** Called when a question about a payment has ended. Must not throw. */
  onEnded(startedMs: number, outcome: "responded" | FacilitatorErrorCode): void;
  readonly now: () => number;
}

/** Asks one facilitator. */
export class Questions {
  /** The last payment that it found good. A field, which each verification writes. */
  lastGood: FacilitatorRequest | undefined;
  readonly #asked: Asked;
  #isAsking = false;

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  /** Never rejects. */
  async isAlive(): Promise<boolean> {
    try {
      if (this.lastGood !== undefined) {
        await this.#verify(this.lastGood);
        return true;
      }
      return readSupportedResponse(await this.#asked.supported()) !== undefined;
    } catch (error) {
      // The payment may be too old for it by now.
      const isRefused = error instanceof FacilitatorError && REFUSES_ONE_REQUEST.includes(error.status);
      return isRefused && this.lastGood !== undefined;
    }
  }

  /** `false` while it is asked about another payment: such questions must not be a load. Never rejects. */
  async isGood(request: FacilitatorRequest): Promise<boolean> {
    if (this.#isAsking) return false;
    this.#isAsking = true;
    try {
      return (await this.#verify(request)).isValid;
    } catch {
      return false;
    } finally {
      this.#isAsking = false;
    }
  }

  async #verify(request: FacilitatorRequest): Promise<VerifyResponse> {
    const { onEnded, now } = this.#asked;
    const startedMs = now();
    try {
      const response = readVerifyResponse(await this.#asked.verify(request));
      if (response === undefined) throw unreadable("verify");
      onEnded(startedMs, "responded");
      return response;
    } catch (cause) {
      const error = cause instanceof FacilitatorError ? cause : unreadable("verify", cause);
      onEnded(startedMs, error.code);
      throw error;
    }
  }
}
