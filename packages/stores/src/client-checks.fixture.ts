/**
 * The checks of a store that another client of the same server can fail: those of what it sends and of what it makes of the replies. What
 * the statements and scripts do on the server, one client of each server checks.
 *
 * @module
 */
import type { StoreCheck } from "@farebox/testing";

const OF_CLIENTS: readonly RegExp[] = [
  /^find: returns undefined/,
  /^claim: (gives a payment to one of 200|returns whole records|keeps a lease)/,
  /^transition: (from settling only|changes nothing for a wrong)/,
  /^release: removes a payment/,
  /^identifier: is free after a transition with null/,
  /^fields: /,
  /^unfinished: yields whole records/,
  /^shared: a record is read/,
  /^renew: (sets the lease|accepts no records)/,
  /^watch: /,
  /^runs: returns each run/,
  /^exposure: (returns the sums|adds large amounts|names up to 16)/,
  /^ledger: (has the entry of a transition|lists entries|finds entries|replaces the refunds|adds up counts)/,
  /: .*\bodd\b/,
];

/** @param canWatch - Without it there are no checks of `watch`. */
export function checksOfClients(checks: readonly StoreCheck[], canWatch: boolean): readonly StoreCheck[] {
  for (const pattern of OF_CLIENTS) {
    const isThere = checks.some(({ name }) => pattern.test(name));
    if (!isThere && (canWatch || !pattern.test("watch: "))) throw new Error(`no check of a store matches ${pattern}`);
  }
  return checks.filter(({ name }) => OF_CLIENTS.some((pattern) => pattern.test(name)));
}
