/**
 * A seller whose clock only the test moves, with one handler that works for as long as the test wants. Chains that have a clock of
 * their own are moved with it.
 *
 * @module
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Facilitator } from "@farebox/core";
import { createPayments, type PaymentOption, type PaymentsOptions } from "@farebox/express";
import express from "express";
import { expect, onTestFinished } from "vitest";

/** What a market is made of. */
export interface MarketPlan {
  readonly facilitator: Facilitator;
  readonly accepts: PaymentOption;
  /** Moves the chain. */
  readonly passTime: (seconds: number) => void;
  readonly options?: Partial<PaymentsOptions>;
}

/** Unix seconds at which each market opens. */
export const OPENS = 1_800_000_000;

/** Opens a seller for the time of the test. */
export async function openMarket({ facilitator, accepts, passTime, options }: MarketPlan) {
  let nowMs = OPENS * 1000;
  const timers = new Set<{ readonly atMs: number; readonly act: () => void }>();
  const log: string[] = [];
  const note = (event: string) => void log.push(event);
  const payments = createPayments({
    facilitator,
    // A node in this process looks like an app of the seller's.
    strict: false,
    logger: { info() {}, warn: note, error: note },
    now: () => nowMs,
    timer(act, delayMs) {
      const started = { atMs: nowMs + delayMs, act };
      timers.add(started);
      return () => void timers.delete(started);
    },
    ...options,
  });
  const handler: { runs: number; signal?: AbortSignal; finish(): void } = { runs: 0, finish() {} };
  let begun = (): void => {};
  const app = express();
  app.use(payments.routes({ "GET /report": { accepts } }));
  app.get("/report", (req, res) => {
    handler.runs += 1;
    handler.signal = req.payment!.signal;
    handler.finish = () => res.json({ report: "long" });
    begun();
  });
  await payments.ready(app);
  // A node in this process looks like an app of the seller's, as long as its own one is not known.
  log.length = 0;
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const send = async (payment?: object) => {
    const header = Buffer.from(JSON.stringify(payment ?? {})).toString("base64");
    const headers: Record<string, string> = payment === undefined ? {} : { "PAYMENT-SIGNATURE": header };
    const response = await fetch(`http://127.0.0.1:${port}/report`, { headers });
    return { status: response.status, receipt: response.headers.get("PAYMENT-RESPONSE"), body: await response.json() };
  };
  return {
    handler,
    /** Events of the log that are not for information. */
    log,
    /** Sends a request. */
    send,
    /** Sends a payment, and resolves when its handler runs. `response` is what it gets in the end. */
    async begin(payment: object) {
      const running = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const response = send(payment);
      const early = response.then((got) => expect.unreachable(`the handler did not run: ${JSON.stringify(got)}`));
      await Promise.race([running, early]);
      return { response };
    },
    /** Lets time pass, second by second. */
    async pass(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        nowMs += 1000;
        passTime(1);
        for (const started of [...timers]) {
          if (started.atMs > nowMs || !timers.delete(started)) continue;
          started.act();
        }
        await new Promise(setImmediate);
      }
    },
  };
}
