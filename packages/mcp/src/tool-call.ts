/**
 * One call of a paid tool: asks the gate, and does as it says.
 *
 * @module
 */
import type { Decision, HeldAdmission, Payment, PrepaidAdmission, Release, RouteGate } from "@farebox/core";
import type { McpServer, RegisteredTool } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { checkResult } from "./checked-result.js";
import { onUndelivered } from "./delivery.js";
import { toErrorResult, toHandlerResponse, toResult, withReceipt } from "./tool-answer.js";
import type { CallExtra, PaidCallExtra } from "./tool-config.js";
import { type CalledTool, PAYMENT_KEY, TOOL_PLACE, toGateRequest } from "./tool-request.js";

/** A tool that has a price. */
export interface PaidTool extends CalledTool {
  readonly gate: RouteGate;
  /** The seller's handler. */
  readonly run: (args: unknown, extra: PaidCallExtra) => unknown;
  /** How much of a result is kept for who pays again with the same payment, in bytes. */
  readonly holdBytes: number;
}

/** One call of it. */
export interface ToolCall {
  readonly tool: PaidTool;
  readonly server: McpServer;
  readonly outputSchema: RegisteredTool["outputSchema"];
  /** As the input schema makes them; `undefined` for a tool without one. */
  readonly args: unknown;
  readonly extra: CallExtra;
}

/** Nobody reads this: a call that was cancelled gets no answer. */
const CANCELLED: CallToolResult = { content: [], isError: true };

/** Calls a tool that has to be paid for. Rejects only as the handler does, of whose result nothing is charged then. */
export async function callTool(call: ToolCall): Promise<CallToolResult> {
  const { tool, args, extra } = call;
  const decision = await tool.gate.decide(toGateRequest(tool, args, extra), () => TOOL_PLACE);
  if (extra.signal.aborted) {
    giveBack(decision);
    return CANCELLED;
  }
  switch (decision.kind) {
    case "pass":
      return runHandler(call, undefined);
    case "respond":
      if (decision.undelivered !== undefined) onUndelivered(call.server, extra, decision.undelivered);
      return toResult(decision.response, call.outputSchema !== undefined);
    default:
      return decision.admission.isHeld ? serve(decision.admission, call) : servePrepaid(decision.admission, call);
  }
}

/** What cannot be used any more stays good for the same payment sent again. */
function giveBack(decision: Decision): void {
  if (decision.kind === "respond") void decision.undelivered?.();
  else if (decision.kind === "run") void decision.admission.cancel();
}

/** Runs the handler and settles, unless the client cancels the call, or the payment runs out, before there is a result. */
function serve(admission: HeldAdmission, call: ToolCall): Promise<CallToolResult> {
  const { signal } = call.extra;
  let isDecided = false;
  /** Whether this is what decides. */
  const decide = () => {
    const isFirst = !isDecided;
    isDecided = true;
    return isFirst;
  };
  return new Promise((resolve, reject) => {
    admission.onExpired((instead) => {
      if (decide()) instead.then((answer) => resolve(toResult(answer, call.outputSchema !== undefined)), reject);
    });
    const leave = () => {
      if (!decide()) return admission.leave();
      void admission.cancel();
      resolve(CANCELLED);
    };
    signal.addEventListener("abort", leave, { once: true });
    const complete = async (result: CallToolResult) => {
      if (!decide()) return CANCELLED;
      const released = await completeRun(admission, result, call);
      signal.removeEventListener("abort", leave);
      return released;
    };
    const fail = async (error: unknown) => {
      const released = await complete(toErrorResult(error));
      if (isForSdk(error)) throw error;
      return released;
    };
    runHandler(call, admission.payment).then(complete, fail).then(resolve, reject);
  });
}

async function completeRun(admission: HeldAdmission, result: CallToolResult, call: ToolCall): Promise<CallToolResult> {
  const { server, extra, tool } = call;
  const answer = toHandlerResponse(result, tool.holdBytes);
  const release: Release = await admission.complete(answer);
  if (release.kind === "replace") return toResult(release.response, call.outputSchema !== undefined);
  if (release.paid) onUndelivered(server, extra, () => void admission.unreleased(answer));
  return withReceipt(result, release.headers);
}

/** The money has moved: whatever the handler does, its result has the receipt. */
async function servePrepaid(prepaid: PrepaidAdmission, call: ToolCall): Promise<CallToolResult> {
  const { signal } = call.extra;
  const leave = () => prepaid.leave();
  signal.addEventListener("abort", leave, { once: true });
  try {
    return withReceipt(await runHandler(call, prepaid.payment), prepaid.headers);
  } catch (error) {
    if (isForSdk(error)) throw error;
    return withReceipt(toErrorResult(error), prepaid.headers);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

async function runHandler({ tool, args, extra, outputSchema }: ToolCall, payment: Payment | undefined) {
  const result = await tool.run(args, toPaidExtra(extra, payment));
  return checkResult(result, outputSchema);
}

/** The payment itself is nobody's business behind us. */
function toPaidExtra(extra: CallExtra, payment: Payment | undefined): PaidCallExtra {
  const { [PAYMENT_KEY]: _, ...rest } = extra._meta ?? {};
  const kept = extra._meta === undefined ? {} : { _meta: rest };
  if (payment === undefined) return { ...extra, ...kept };
  return { ...extra, ...kept, payment, signal: AbortSignal.any([extra.signal, payment.signal]) };
}

/** Code of the error by which a handler sends its client to a URL first. */
const URL_ELICITATION_REQUIRED = -32042;

/** Errors that the SDK makes no result of. */
function isForSdk(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === URL_ELICITATION_REQUIRED;
}
