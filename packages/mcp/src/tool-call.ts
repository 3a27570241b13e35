/**
 * A call that may run: runs the handler, settles, and puts the receipt on the result.
 *
 * @module
 */
import type { Payment } from "@farebox/core";
import type { GateResponse, HeldAdmission, PrepaidAdmission } from "@farebox/core/adapter";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { CallExtra, PaidCallExtra } from "./tool-config.js";
import type { PricedTool } from "./tool-price.js";
import { PAYMENT_KEY, RETRY_TOKEN_KEY, type ToolCall } from "./tool-request.js";
import { checkResult, onSent, toErrorResult, toHandlerResponse, toResult, withReceipt } from "./tool-response.js";

/** The result of a cancelled call. The SDK does not send it. */
export const CANCELLED: CallToolResult = { content: [], isError: true };

/** How a run ended. The first ending counts, later ones are ignored. */
type Ending =
  | { readonly kind: "returned"; readonly result: CallToolResult }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "cancelled" }
  | { readonly kind: "expired"; readonly response: Promise<GateResponse> };

/** Runs the handler, then settles. Nothing is charged if the call is cancelled or the payment expires before the result. */
export async function runAndSettle(
  tool: PricedTool,
  call: ToolCall,
  admission: HeldAdmission,
): Promise<CallToolResult> {
  const ending = await new Promise<Ending>((end) => {
    admission.onExpired((response) => end({ kind: "expired", response }));
    onAbort(call, () => {
      admission.leave();
      end({ kind: "cancelled" });
    });
    runHandler(tool, call, admission.payment)
      .then(
        (result) => end({ kind: "returned", result }),
        (error: unknown) => end({ kind: "threw", error }),
      )
      .finally(() => admission.handlerEnded());
  });
  switch (ending.kind) {
    case "returned":
      return settle(tool, call, admission, ending.result);
    case "threw": {
      const result = await settle(tool, call, admission, toErrorResult(ending.error));
      if (isForSdk(ending.error)) throw ending.error;
      return result;
    }
    case "cancelled":
      void admission.cancel();
      return CANCELLED;
    case "expired":
      return toResult(await ending.response, call.outputSchema !== undefined);
  }
}

/** Settles if the result is chargeable. Yields the result with its receipt, or the response that replaces it. */
async function settle(
  { holdBytes }: PricedTool,
  { server, extra, outputSchema }: ToolCall,
  admission: HeldAdmission,
  result: CallToolResult,
): Promise<CallToolResult> {
  const response = toHandlerResponse(result, holdBytes);
  const release = await admission.complete(response);
  if (release.kind === "replace") return toResult(release.response, outputSchema !== undefined);
  if (release.paid) {
    onSent(server, extra, (isSent) => {
      if (isSent) admission.done();
      else void admission.unreleased(response);
    });
  }
  return withReceipt(result, release.headers);
}

/** Runs the handler of a settled payment. The result has the receipt, even if it is an error. */
export async function runSettled(
  tool: PricedTool,
  call: ToolCall,
  admission: PrepaidAdmission,
): Promise<CallToolResult> {
  onAbort(call, () => admission.leave());
  // Not before the handler is done: other processes wait for this one as long as it may respond.
  const watchResult = () => onSent(call.server, call.extra, () => admission.done());
  try {
    const result = await runHandler(tool, call, admission.payment);
    watchResult();
    return result.isError === true ? await fail(result, admission) : withReceipt(result, admission.headers);
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

/** Runs the handler and checks its result. Rejects as the handler does. */
export async function runHandler(
  tool: PricedTool,
  { args, extra, outputSchema }: ToolCall,
  payment: Payment | undefined,
): Promise<CallToolResult> {
  return checkResult(await tool.run(args, toPaidExtra(extra, payment)), outputSchema);
}

/** Adds the payment, and removes its signed form and its token from `_meta`: handlers do not need them. */
function toPaidExtra(extra: CallExtra, payment: Payment | undefined): PaidCallExtra {
  const { [PAYMENT_KEY]: _, [RETRY_TOKEN_KEY]: __, ...rest } = extra._meta ?? {};
  const kept = extra._meta === undefined ? extra : { ...extra, _meta: rest };
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
