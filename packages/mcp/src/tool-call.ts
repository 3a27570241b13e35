/**
 * A call that may run: runs the handler, settles, and puts the receipt on the result.
 *
 * @module
 */
import type { Payment, PaymentAbortedError } from "@farebox/core";
import type { Admission, GateResponse, HeldAdmission, PrepaidAdmission } from "@farebox/core/adapter";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { CallExtra, PaidCallExtra } from "./tool-config.js";
import type { PricedTool } from "./tool-price.js";
import {
  costOf,
  createProgress,
  type HeardCall,
  MeteredOutput,
  type Notifier,
  type OutputEnd,
  whileSettling,
} from "./tool-progress.js";
import { PAYMENT_KEY, RETRY_TOKEN_KEY, type ToolCall } from "./tool-request.js";
import {
  checkResult,
  type EarlyEnd,
  onSent,
  toErrorResult,
  toHandlerResponse,
  toResult,
  withEarlyEnd,
  withEnd,
  withoutThrownChallenge,
  withReason,
  withReceipt,
} from "./tool-response.js";

/** The result of a cancelled call. The SDK does not send it. */
export const CANCELLED: CallToolResult = { content: [], isError: true };

/** How a run ended. The first ending counts, later ones are ignored. */
type Ending =
  | { readonly kind: "returned"; readonly result: CallToolResult }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "cancelled" }
  | { readonly kind: "expired"; readonly response: Promise<GateResponse> }
  | OutputEnd;

/**
 * Runs the handler, then settles. If the call is cancelled or the payment expires before the result, nothing is charged but what a
 * metered tool has delivered.
 */
export async function runAndSettle(
  tool: PricedTool,
  call: HeardCall,
  admission: HeldAdmission,
): Promise<CallToolResult> {
  const { payment, metering } = admission;
  const output = metering && new MeteredOutput(call.notifier, admission, metering, tool.holdBytes);
  const progress = output?.progress ?? createProgress(call.notifier, { isPaid: false });
  const ending = await new Promise<Ending>((end) => {
    admission.onExpired((response) => end({ kind: "expired", response }));
    output?.onEnd(end);
    onAbort(call, () => {
      admission.leave();
      end({ kind: "cancelled" });
    });
    runHandler(tool, call, { payment, progress })
      .then(
        (result) => end({ kind: "returned", result }),
        (error: unknown) => end({ kind: "threw", error }),
      )
      .finally(() => admission.handlerEnded());
  });
  switch (ending.kind) {
    case "cancelled":
      void (output?.isStarted ? output.leave() : admission.cancel());
      return CANCELLED;
    case "expired":
      return toResult(await ending.response, call.outputSchema !== undefined);
    case "replaced":
      // The handler works on for nobody.
      admission.leave();
      return toResult(ending.response, call.outputSchema !== undefined);
    default: {
      const settled = await (output === undefined
        ? settle(tool, call, admission, ending.kind === "returned" ? ending.result : toFailure(ending))
        : settleMetered(tool, call, { admission, output, ending }));
      if (ending.kind === "threw" && isForSdk(ending.error)) throw ending.error;
      return settled;
    }
  }
}

/** The handler has ended, or the payment has expired after a part of the output was delivered. */
type MeteredEnding = Extract<Ending, { readonly kind: "returned" | "threw" | "stopped" }>;

interface MeteredRun {
  readonly admission: HeldAdmission;
  readonly output: MeteredOutput;
  readonly ending: MeteredEnding;
}

/**
 * Settles a metered call. If something was delivered before, the client gets the result however that settles, as it has got the rest.
 * Otherwise the result is held as that of any other tool.
 */
async function settleMetered(
  tool: PricedTool,
  call: HeardCall,
  { admission, output, ending }: MeteredRun,
): Promise<CallToolResult> {
  const { server, extra, outputSchema } = call;
  const release = await output.flushed();
  if (release?.kind === "replace") return toResult(release.response, outputSchema !== undefined);
  const early = earlyEndOf(admission.payment);
  if (release === undefined)
    return settle(tool, call, admission, resultOfWhole({ admission, output, ending }, early, call));

  // A result behind a refused amount would be free.
  const isResult = ending.kind === "returned" && admission.metering?.isRefused !== true;
  const given = isResult ? ending.result : toPartial(output.text, ending, early, call);
  const result = early === undefined ? given : withEarlyEnd(given, early);
  if (!release.paid) return withReceipt(result, release.headers);
  const settling = output.finish(isResult && given.isError !== true);
  const end = await whileSettling(settling, call.notifier, { timer: tool.timer, cost: costOf(admission.payment) });
  if (end.receipt?.success) {
    onSent(server, extra, (isSent) => {
      if (!isSent) void admission.undelivered(toHandlerResponse(result, tool.holdBytes));
    });
  }
  return withEnd(result, end);
}

/** The result of a metered call that has delivered nothing yet. At the maximum, what the handler gave so far is for sale. */
function resultOfWhole(
  { admission, output, ending }: MeteredRun,
  early: EarlyEnd | undefined,
  call: ToolCall,
): CallToolResult {
  if (ending.kind === "returned") return early === undefined ? ending.result : withEarlyEnd(ending.result, early);
  const { text, textAmount } = output;
  if (early === undefined) return toFailure(ending);
  if (textAmount === "0" || call.outputSchema !== undefined) return withReason(toFailure(ending), early);
  // Not what was charged for behind it.
  admission.payment.settle(textAmount);
  return withEarlyEnd(toPartial(text, ending, early, call), early);
}

/** What was delivered, as the result of a call whose handler gave none. A tool with an output schema has to call it an error. */
function toPartial(
  text: string,
  ending: MeteredEnding,
  early: EarlyEnd | undefined,
  { outputSchema }: ToolCall,
): CallToolResult {
  const delivered: CallToolResult["content"] = text === "" ? [] : [{ type: "text", text }];
  if (early !== undefined && outputSchema === undefined && text !== "") return { content: delivered };
  const failure = toFailure(ending);
  return { ...failure, content: [...(early === undefined ? failure.content : []), ...delivered] };
}

function toFailure(ending: MeteredEnding): CallToolResult {
  return ending.kind === "threw" ? toErrorResult(ending.error) : { content: [], isError: true };
}

/** Why the output ends before its tool has ended it. */
function earlyEndOf({ signal }: Payment): EarlyEnd | undefined {
  if (!signal.aborted) return undefined;
  switch ((signal.reason as PaymentAbortedError).reason) {
    case "limit":
      return "payment_limit";
    case "expired":
      return "payment_expired";
    case "unrecorded":
    case "exposure":
      return "unexpected_settle_error";
    default:
      return undefined;
  }
}

/** Settles if the result is chargeable. Yields the result with its receipt, or the response that replaces it. */
async function settle(
  { holdBytes, timer }: PricedTool,
  { server, extra, outputSchema, notifier }: HeardCall,
  admission: HeldAdmission,
  result: CallToolResult,
): Promise<CallToolResult> {
  const response = toHandlerResponse(result, holdBytes);
  const token = tokenFor({ extra, notifier }, admission);
  const cost = admission.metering && costOf(admission.payment);
  const completing = admission.complete(response);
  const release = await (result.isError === true
    ? completing
    : whileSettling(completing, notifier, { timer, cost, token }));
  if (release.kind === "replace") return toResult(release.response, outputSchema !== undefined);
  if (release.paid) {
    onSent(server, extra, (isSent) => {
      if (!isSent) void admission.unreleased(response);
      else if (token === undefined) admission.done();
      else void admission.keepForPayer(response);
    });
  }
  return withReceipt(result, release.headers);
}

/**
 * The token for a client that may give up unseen, so that it gets its result by the same payment. `undefined`: it hears of no token, or the
 * server sees it leave. Without a session, a cancellation reaches no call, and the client leaves its connection open.
 */
function tokenFor(
  { extra, notifier }: Pick<HeardCall, "extra" | "notifier">,
  { proof }: Admission,
): string | undefined {
  const { sessionId, requestInfo } = extra;
  if (sessionId !== undefined || requestInfo === undefined || !notifier.isHeard) return undefined;
  return proof[0]?.[1];
}

/** Runs the handler of a settled payment. The result has the receipt, even if it is an error. */
export async function runSettled(
  tool: PricedTool,
  call: HeardCall,
  admission: PrepaidAdmission,
): Promise<CallToolResult> {
  onAbort(call, () => admission.leave());
  const { payment } = admission;
  const token = tokenFor(call, admission);
  if (token !== undefined) void call.notifier.send(undefined, undefined, token);
  // Not before the handler is done: other processes wait for this one as long as it may respond.
  const watchResult = (sold?: CallToolResult) =>
    onSent(call.server, call.extra, () => {
      if (sold === undefined || token === undefined) admission.done();
      else void admission.keepForPayer(toHandlerResponse(sold, tool.holdBytes));
    });
  try {
    const progress = createProgress(call.notifier, { isPaid: true });
    const result = await runHandler(tool, call, { payment, progress });
    if (result.isError !== true) {
      watchResult(result);
      return withReceipt(result, admission.headers);
    }
    watchResult();
    return await fail(result, admission);
  } catch (error) {
    const failed = await fail(toErrorResult(error), admission);
    watchResult();
    if (isForSdk(error)) throw error;
    return failed;
  }
}

/** The call ended in an error: the same payment sent again runs the handler once more. */
async function fail(result: CallToolResult, admission: PrepaidAdmission): Promise<CallToolResult> {
  // Before the result goes out: the client may send the payment again at once.
  await admission.fail(500);
  return withReceipt(result, [...admission.headers, ...admission.failureHeaders]);
}

/** Runs the handler of a tool that is free, or of a call that a hook let through. */
export function runUnpaid(tool: PricedTool, call: HeardCall): Promise<CallToolResult> {
  return runHandler(tool, call, { progress: createProgress(call.notifier, { isPaid: true }) });
}

type Given = Pick<PaidCallExtra, "payment" | "progress">;

/** Runs the handler and checks its result. Rejects as the handler does. */
async function runHandler(
  tool: PricedTool,
  { args, extra, outputSchema, notifier }: HeardCall,
  given: Given,
): Promise<CallToolResult> {
  let result: unknown;
  try {
    result = await tool.run(args, toPaidExtra(extra, notifier, given));
  } catch (error) {
    throw withoutThrownChallenge(error);
  }
  return checkResult(result, outputSchema);
}

/** Adds what paid tools have, and removes its signed form and its token from `_meta`: handlers do not need them. */
function toPaidExtra(extra: CallExtra, notifier: Notifier, { payment, progress }: Given): PaidCallExtra {
  const { [PAYMENT_KEY]: _, [RETRY_TOKEN_KEY]: __, ...rest } = extra._meta ?? {};
  const sendNotification: CallExtra["sendNotification"] = (notification) => {
    notifier.saw(notification);
    return extra.sendNotification(notification);
  };
  const kept = { ...extra, ...(extra._meta === undefined ? {} : { _meta: rest }), progress, sendNotification };
  if (payment === undefined) return kept;
  return { ...kept, payment, signal: AbortSignal.any([extra.signal, payment.signal]) };
}

function onAbort({ extra }: ToolCall, listener: () => void): void {
  extra.signal.addEventListener("abort", listener, { once: true });
}

/** The code of the error by which a handler sends its client to a URL first. */
const URL_ELICITATION_REQUIRED = -32042;

/** Whether the SDK sends the error as such. It turns all other errors into results. */
function isForSdk(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === URL_ELICITATION_REQUIRED;
}
