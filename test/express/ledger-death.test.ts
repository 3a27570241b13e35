/**
 * Processes that are killed between the settlement and the response, on real stores: after a restart the payment is in the ledger, once, and
 * the handler of `onSettled` has had it.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { LedgerEntry } from "@farebox/core";
import { createPayer, pay } from "@farebox/testing";
import { describe, test } from "vitest";
import { LIBRARIES, problemOf, startServer } from "../chaos/servers.js";
import { openLedger } from "../faults/bank.js";

const SCRIPT = fileURLToPath(new URL("ledger-seller.mjs", import.meta.url));

async function startSeller(given: object): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = fork(SCRIPT, [JSON.stringify(given)], { execArgv: [] });
  const [port] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`the seller ended with ${code}`))),
  ]);
  return { url: `http://127.0.0.1:${port}`, child };
}

describe.each(LIBRARIES)("with a store in %s", (library) => {
  const problem = problemOf(library);
  if (problem !== undefined) process.stderr.write(`${problem}\n`);

  test.skipIf(problem !== undefined).concurrent.for(["before", "after"])(
    "a process that is killed right %s the record of a settlement leaves one entry",
    { timeout: 120_000 },
    async (dies, { expect, onTestFinished }) => {
      const [bank, server] = await Promise.all([openLedger(), startServer(library)]);
      onTestFinished(() => Promise.all([bank.close(), server.close()]).then(() => {}));
      const [payer, { address: payTo }] = [createPayer(), createPayer()];
      await bank.fund(payer.address, 1_000_000n);
      const given = { facilitator: bank.server.url, payTo, library, place: server.place };
      const first = await startSeller({ ...given, dies });
      onTestFinished(() => void first.child.kill("SIGKILL"));
      const { challenge } = await pay(first.url, { path: "/paid" });
      const offer = challenge?.accepts[0];
      if (challenge === undefined || offer === undefined) throw new TypeError("it is free");
      const payment = await payer.signExact(offer, { challenge });
      const ended = once(first.child, "exit");
      await expect(pay(first.url, { path: "/paid", payment })).rejects.toThrow();
      await ended;
      expect(bank.ledger.transfers).toHaveLength(1);

      // The leases of the first process are over.
      const second = await startSeller({ ...given, aheadMs: 60_000 });
      onTestFinished(() => void second.child.kill("SIGKILL"));
      let response = await pay(second.url, { path: "/paid", payment });
      while (response.status === 409 || response.status === 503) {
        response = await pay(second.url, { path: "/paid", payment });
      }
      expect(response.status).toBe(200);
      const books = await pay(second.url, { path: "/books" });
      const { entries, seen } = books.json() as { entries: readonly LedgerEntry[]; seen: readonly string[] };
      expect(entries).toMatchObject([
        {
          route: "GET /paid",
          payer: payer.address.toLowerCase(),
          payee: payTo,
          amount: "10000",
          decimals: 6,
          transaction: response.receipt?.transaction,
          status: "settled",
        },
      ]);
      expect(seen).toEqual([entries[0]?.id]);
      expect(bank.ledger.transfers).toHaveLength(1);
    },
  );
});
