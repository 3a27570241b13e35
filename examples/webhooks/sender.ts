/**
 * Sends each settled payment to a URL. It is a handler of `payments.ledger.onSettled`, which calls it again when it throws, less and less
 * often, and goes on after a restart.
 *
 * @module
 */
import { appendFileSync } from "node:fs";
import type { LedgerEntry, SettledHandler } from "@farebox/express";
import { sign } from "./signature.js";

/** Where webhooks go. */
export interface SenderOptions {
  readonly url: string;
  /** `whsec_` and at least 24 bytes in base64. */
  readonly secret: string;
  /** A file that gets what could not be delivered, one JSON a line. */
  readonly deadLetters: string;
  /** Calls for one entry before it is given up. By this process: a restart begins anew. Default 12, which takes about seven minutes. */
  readonly attempts?: number;
  /** Default 10 seconds. */
  readonly timeoutMs?: number;
}

/** Responses that will be the same next time. */
const isFinal = (status: number) => status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);

/** Creates the handler. */
export function createSender(options: SenderOptions): SettledHandler {
  const { url, secret, deadLetters, attempts = 12, timeoutMs = 10_000 } = options;
  return async (entry, { attempt, signal }) => {
    const body = JSON.stringify({ type: "payment.settled", data: dataOf(entry) });
    const problem = await post(body, entry.id, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    // The process ends. The next one sends it.
    if (signal.aborted) throw new Error("closed");
    if (problem === undefined) return;
    if (!problem.isFinal && attempt < attempts) throw new Error(problem.text);
    const letter = { at: new Date().toISOString(), url, problem: problem.text, attempts: attempt, body };
    // On the disk before the ledger goes on.
    appendFileSync(deadLetters, `${JSON.stringify(letter)}\n`, { flush: true });
  };

  async function post(body: string, id: string, signal: AbortSignal) {
    try {
      const headers = { "content-type": "application/json", ...sign(secret, id, body) };
      const response = await fetch(url, { method: "POST", body, headers, signal, redirect: "error" });
      await response.body?.cancel();
      if (response.ok) return undefined;
      return { text: `the receiver responded with ${response.status}`, isFinal: isFinal(response.status) };
    } catch (error) {
      return { text: error instanceof Error ? error.message : "no response", isFinal: false };
    }
  }
}

/** What a receiver learns. Times as text, and amounts as they are: atomic units, which no float holds. */
function dataOf(entry: LedgerEntry): object {
  const { id, settledAtMs, route, resource, payer, payee, network, asset, decimals, amount, transaction } = entry;
  const settledAt = new Date(settledAtMs).toISOString();
  return { id, settledAt, route, resource, payer, payee, network, asset, decimals, amount, transaction };
}
