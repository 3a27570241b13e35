/**
 * One line per call of a facilitator. Whatever a stranger wrote is passed on only if it has a known, harmless form.
 *
 * @module
 */
import {
  isJsonObject,
  isReason,
  type LogFields,
  type Logger,
  legible,
  type SettlementResponse,
  type VerifyResponse,
} from "@farebox/core";

/** Takes note of calls. Never throws: a logger that fails must not decide what becomes of a payment. */
export interface CallLog {
  verified(request: unknown, answer: VerifyResponse): void;
  settled(request: unknown, answer: SettlementResponse): void;
}

/** Writes to a logger, or nowhere. */
export function createCallLog(logger: Logger | undefined): CallLog {
  function write(event: string, reason: unknown, fields: LogFields): void {
    const level = reason === "unexpected_verify_error" || reason === "unexpected_settle_error" ? "error" : "info";
    try {
      logger?.[level](event, fields);
    } catch {
      // There is nobody left to tell.
    }
  }
  return {
    verified(request, { isValid, invalidReason, invalidMessage, payer }) {
      const outcome = { isValid, payer: plain(payer), ...why(invalidReason, invalidMessage) };
      write("verify", invalidReason, { ...subject(request), ...outcome });
    },
    settled(request, { success, transaction, payer, errorReason, errorMessage }) {
      const outcome = {
        success,
        transaction: plain(transaction),
        payer: plain(payer),
        ...why(errorReason, errorMessage),
      };
      write("settle", errorReason, { ...subject(request), ...outcome });
    },
  };
}

function subject(request: unknown): LogFields {
  const requirements = isJsonObject(request) ? request["paymentRequirements"] : undefined;
  if (!isJsonObject(requirements)) return {};
  const { scheme, network, amount, payTo } = requirements;
  return { scheme: plain(scheme), network: plain(network), amount: plain(amount), payTo: plain(payTo) };
}

function why(reason: unknown, message: unknown): LogFields {
  return {
    ...(isReason(reason) ? { reason } : {}),
    ...(typeof message === "string" ? { message: legible(message) } : {}),
  };
}

/** Names, numbers, addresses and hashes have this form; signatures are longer. */
function plain(text: unknown): string | undefined {
  return typeof text === "string" && /^[\w:.+/=-]{1,100}$/.test(text) ? text : undefined;
}
