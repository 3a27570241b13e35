/**
 * The response of a handler that runs after settlement, or without payment: it is not held. Only its head is watched.
 *
 * @module
 */
import type { ServerResponse } from "node:http";
import type { PaymentsEngine } from "@farebox/core";
import type { PrepaidAdmission } from "@farebox/core/adapter";
import { onClosed } from "./connection.js";
import {
  keepPrivate,
  lockPayments,
  type ResponseHead,
  rehearseHead,
  removePayments,
  setHeaders,
  takeHead,
  type WriteHeadArguments,
  withholdTrailers,
  withoutChallenge,
} from "./response-head.js";
import { closeBehind } from "./shutdown.js";

/** Prepares the response to a request that a hook let through unpaid: shared caches must not give it to others. */
export function prepareGranted(res: ServerResponse): void {
  withholdTrailers(res, () => {});
  onHead(res, () => {
    takePayments(res);
    lockPayments(res);
    keepPrivate(res);
  });
}

/** Prepares the response to a request whose payment has settled: it carries the receipt and stays out of shared caches. */
export function preparePrepaid(
  res: ServerResponse,
  admission: PrepaidAdmission,
  { draining }: Pick<PaymentsEngine, "draining">,
): void {
  setHeaders(res, admission.headers);
  const check = (value: unknown) => admission.checkHead([["Settlement-Overrides", String(value)]]);
  withholdTrailers(res, (payments) => admission.checkHead(payments));
  onHead(res, () => {
    if (draining.isDraining) closeBehind(res);
    admission.checkHead(takePayments(res, admission.headers));
    // The handler, or an error page, may have removed the receipt.
    setHeaders(res, admission.headers);
    if (res.statusCode >= 500) setHeaders(res, admission.failureHeaders);
    lockPayments(res, check);
    keepPrivate(res);
    // Before the head goes out: the client may send the payment again at once.
    if (res.statusCode >= 400) void admission.fail(res.statusCode);
  });
  onClosed(res, {
    onClosed(isDelivered) {
      if (!isDelivered) admission.leave();
      admission.done();
    },
  });
}

/** Removes what a handler says about payments, and returns it without what is ours. If it asks for a payment, the status becomes 502. */
function takePayments(res: ServerResponse, ours: ResponseHead["headers"] = []): ResponseHead["headers"] {
  const isOurs = ([name, value]: ResponseHead["headers"][number]) =>
    ours.some(([own, set]) => own.toLowerCase() === name.toLowerCase() && set === value);
  const found = removePayments(res).filter((header) => !isOurs(header));
  if (res.statusCode !== 402) return found;
  const head = takeHead(res);
  const { status, headers } = withoutChallenge({ ...head, headers: [...head.headers, ...found] }, undefined);
  if (status === 402) return found;
  res.statusCode = status;
  res.statusMessage = "";
  return headers.slice(head.headers.length);
}

/** Calls the listener just before the head is sent, when the handler has set all its headers. */
function onHead(res: ServerResponse, listener: () => void): void {
  const writeHead = res.writeHead.bind(res);
  let isWritten = false;
  Reflect.set(res, "writeHead", (...args: WriteHeadArguments) => {
    rehearseHead(res, args, isWritten);
    isWritten = true;
    listener();
    return writeHead(res.statusCode);
  });
}
