/**
 * The facilitator's log: one line per call, and one per internal error.
 *
 * Text from a client or a scheme is logged only in a known, harmless form. A logger that throws changes nothing: it must
 * not decide whether a payment is settled.
 *
 * @module
 */
import type { LogFields, Logger, SettlementResponse, VerifyResponse } from "@farebox/core";
import { isJsonObject, isReason } from "@farebox/core/protocol";
import { legible } from "@farebox/core/scheme";

/** Logs calls. Never throws. */
export interface CallLog {
  verified(request: unknown, response: VerifyResponse, seller: string | undefined): void;
  settled(request: unknown, response: SettlementResponse, seller: string | undefined): void;
}

/** Creates the log of calls; without a logger it writes nothing. */
export function createCallLog(logger: Logger | undefined): CallLog {
  function write(event: string, reason: unknown, fields: LogFields): void {
    const level = reason === "unexpected_verify_error" || reason === "unexpected_settle_error" ? "error" : "info";
    writeLine(logger, level, event, fields);
  }
  return {
    verified(request, { isValid, invalidReason, invalidMessage, payer }, seller) {
      const outcome = { isValid, payer: plain(payer), ...failureFields(invalidReason, invalidMessage) };
      write("verify", invalidReason, { ...requestFields(request), seller, ...outcome });
    },
    settled(request, { success, transaction, payer, errorReason, errorMessage }, seller) {
      const outcome = {
        success,
        transaction: plain(transaction),
        payer: plain(payer),
        ...failureFields(errorReason, errorMessage),
      };
      write("settle", errorReason, { ...requestFields(request), seller, ...outcome });
    },
  };
}

/** Says how the catalog searches: by words, or by which encoder. A catalog of another kind may not say it. Never rejects. */
export async function logSearch(catalog: object | undefined, logger: Logger | undefined): Promise<void> {
  const by =
    catalog && "searchesBy" in catalog ? await Promise.resolve(catalog.searchesBy).catch(() => undefined) : undefined;
  if (typeof by === "string") writeLine(logger, "info", "catalog_search", { by: legible(by) });
}

/** Logs an internal error by its name alone: its message may hold a database's address and password. Never throws. */
export function logFailure(logger: Logger | undefined, event: string, error: unknown, fields: LogFields = {}): void {
  writeLine(logger, "error", event, { ...fields, error: nameOf(error) });
}

/** The name of an error, for a log or a client: no message, no stack. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "not an error";
}

/** Writes one line. Never throws. */
export function writeLine(
  logger: Logger | undefined,
  level: "info" | "warn" | "error",
  event: string,
  fields: LogFields,
): void {
  try {
    logger?.[level](event, fields);
  } catch {
    // The failure of a logger has no other place to be reported.
  }
}

function requestFields(request: unknown): LogFields {
  const requirements = isJsonObject(request) ? request["paymentRequirements"] : undefined;
  if (!isJsonObject(requirements)) return {};
  const { scheme, network, amount, payTo } = requirements;
  return { scheme: plain(scheme), network: plain(network), amount: plain(amount), payTo: plain(payTo) };
}

function failureFields(reason: unknown, message: unknown): LogFields {
  return {
    ...(isReason(reason) ? { reason } : {}),
    ...(typeof message === "string" ? { message: legible(message) } : {}),
  };
}

/** Names, numbers, addresses and hashes have this form; signatures are longer. */
function plain(text: unknown): string | undefined {
  return typeof text === "string" && /^[\w:.+/=-]{1,100}$/.test(text) ? text : undefined;
}
