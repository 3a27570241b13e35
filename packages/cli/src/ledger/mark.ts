/**
 * `farebox ledger mark`: writes down a refund that was made by other means.
 *
 * @module
 */
import { LedgerError } from "@farebox/core";
import { CliError, wrongCall } from "../frame/cli-error.js";
import { type Command, defineCommand } from "../frame/command.js";
import { describeAmount, refundedOf } from "./amounts.js";
import { LEDGER_OPTIONS, withLedger } from "./open-ledger.js";

export const command: Command = defineCommand({
  name: "ledger mark",
  summary: "Writes down that a payment was given back, by a transaction that was made elsewhere",
  usage: "[options] <id>",
  options: {
    ...LEDGER_OPTIONS,
    transaction: { type: "string", value: "transaction", description: "The transaction that gave the money back" },
    amount: { type: "string", value: "atomic units", description: "How much of it; without it, all that is left" },
    json: { type: "boolean", description: "Prints the entry as JSON" },
  },
  details: "It moves no money. The same transaction marks an entry once.",
  run({ options, args, env, terminal }) {
    const [id] = args;
    const { transaction, amount } = options;
    if (id === undefined || args.length > 1 || transaction === undefined) {
      throw wrongCall("name one entry, and the transaction", "Write farebox ledger mark <id> --transaction 0x…");
    }
    return withLedger(options, env, async (ledger) => {
      const refund = amount === undefined ? { transaction } : { transaction, amount };
      const entry = await ledger.markRefunded(id, refund).catch((cause: unknown) => {
        if (!(cause instanceof LedgerError)) throw cause;
        throw new CliError("FAREBOX_CLI_REFUND", cause.message, "Look at the entry with farebox ledger export", {
          cause,
        });
      });
      if (options.json) terminal.printJson(entry);
      else terminal.print(`${entry.id}: ${describeAmount(refundedOf(entry), entry)} given back, ${entry.status}`);
      return 0;
    });
  },
});
