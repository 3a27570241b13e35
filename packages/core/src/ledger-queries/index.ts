/**
 * The ledger of a store, for scripts. A seller's process loads this entry when it asks `payments.ledger` something.
 *
 * @module
 */
export type {
  Books,
  CheckedRefund,
  CountedDays,
  EntrySearch,
  Ledger,
  LedgerQuery,
  LedgerTime,
  Refund,
} from "../ledger/ledger.js";
export { openBooks, openLedger } from "./books.js";
