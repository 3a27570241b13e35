/**
 * What a seller's facilitators threw while a payment was verified or settled by hand: the reference's methods reject with it.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { createHttpFacilitator, type Facilitator, FacilitatorError, type PaymentsOptions } from "@farebox/core";
import { writeCanonicalText } from "@farebox/core/adapter";
import { FacilitatorResponseError, isStockClient } from "../classes/facilitator-client.js";
import type { FacilitatorClient } from "../types.js";

type Choices = PaymentsOptions["facilitator"];

/** A call by hand, while it lasts. */
export interface WatchedCall {
  /** What a facilitator threw about this payment last; `undefined`: nothing. */
  thrown(): unknown;
  end(): void;
}

/** Remembers errors of payments that a call by hand waits for, and of no other. */
export class FacilitatorCalls {
  readonly #watched = new Map<string, { calls: number; thrown: unknown }>();

  /** @param payload - As a facilitator gets it. */
  watch(payload: unknown): WatchedCall {
    const key = keyOf(payload);
    const watched = this.#watched.get(key) ?? { calls: 0, thrown: undefined };
    watched.calls++;
    this.#watched.set(key, watched);
    return {
      thrown: () => watched.thrown,
      end: () => {
        watched.calls--;
        if (watched.calls === 0) this.#watched.delete(key);
      },
    };
  }

  /** Clients of a seller's or of the reference's. What they throw is kept as it is. */
  clients(clients: readonly FacilitatorClient[]): FacilitatorClient[] {
    return clients.map((client) => {
      const isHosted = typeof client?.verify === "function" && typeof client.getSupported === "function";
      if (!isHosted || isStockClient(client)) return client;
      const { url } = client as { readonly url?: unknown };
      const hosted: FacilitatorClient = {
        verify: (payload, terms) => this.#tell(payload, () => client.verify(payload, terms)),
        settle: (payload, terms) => this.#tell(payload, () => client.settle(payload, terms)),
        getSupported: () => client.getSupported(),
      };
      return Object.assign(hosted, { url });
    });
  }

  /** Facilitators by their URLs. */
  choices(choices: Choices): Choices {
    if (!Array.isArray(choices)) return choices;
    return choices.map((choice) => {
      if (typeof choice !== "object" || choice === null || !("url" in choice)) return choice;
      const { url, headers, ...rest } = choice;
      const native = createHttpFacilitator({ url, ...(headers === undefined ? {} : { headers }) });
      const facilitator: Facilitator = {
        verify: (request, options) => this.#tell(request.paymentPayload, () => native.verify(request, options)),
        settle: (request, options) => this.#tell(request.paymentPayload, () => native.settle(request, options)),
        supported: (options) => native.supported(options),
      };
      return { ...rest, facilitator };
    });
  }

  async #tell<T>({ payload }: { readonly payload: unknown }, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      const watched = this.#watched.get(keyOf(payload));
      if (watched !== undefined) {
        watched.thrown =
          error instanceof FacilitatorError ? new FacilitatorResponseError(error.message, { cause: error }) : error;
      }
      throw error;
    }
  }
}

/** What the payer signed. A payment without a text is refused before a facilitator is asked. */
function keyOf(payload: unknown): string {
  try {
    const hash = createHash("sha256");
    writeCanonicalText(payload, hash);
    return hash.digest("base64url");
  } catch {
    return "";
  }
}
