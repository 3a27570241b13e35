/**
 * The response of a metered route, which goes out before it is paid for: its parts become progress notifications, and its trailers say
 * what it has cost.
 *
 * @see `docs/get-started/mcp-tools.md`, "Metered tools"
 * @module
 */
import type { IncomingMessage } from "node:http";
import type { Payment, SettlementResponse } from "@farebox/core";
import { decodePaymentResponse } from "@farebox/core/protocol";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { AppHead, AppResponse } from "./in-process.js";
import { costOf, type Notifier } from "./tool-progress.js";
import { toEarlyEnd, withEarlyEnd, withEnd } from "./tool-response.js";

/** Whether a response goes out before it is paid for: it announces its receipt as a trailer. */
export function isStreamed({ headers }: AppHead): boolean {
  return /\bpayment-response\b/i.test(headers.trailer ?? "");
}

/** Sends the parts of one response to a client that takes notifications. */
export class RouteStream {
  readonly #notifier: Notifier;
  readonly #decoder = new TextDecoder();
  /** The event whose end has yet to come. */
  #open = "";

  constructor(notifier: Notifier) {
    this.#notifier = notifier;
  }

  /** Sends a part. `handled`: the request, as the app has it. */
  async take(chunk: Buffer, head: AppHead, handled: IncomingMessage | undefined): Promise<void> {
    if (!isStreamed(head)) return;
    const text = this.#whole(this.#decoder.decode(chunk, { stream: true }), head);
    const payment = handled && (Reflect.get(handled, "payment") as Payment | undefined);
    const receiptUrl = head.headers["payment-receipt-url"];
    const url = typeof receiptUrl === "string" ? { receiptUrl } : {};
    if (text !== "") await this.#notifier.send(text, payment && { ...costOf(payment), ...url });
  }

  /** What can be sent: of a stream of events, whole events that are the seller's. */
  #whole(text: string, head: AppHead): string {
    if (!isEventStream(head)) return text;
    this.#open += text;
    const [whole = ""] = WHOLE_EVENTS.exec(this.#open) ?? [];
    this.#open = this.#open.slice(whole.length);
    return withoutOwnEvents(whole);
  }
}

const WHOLE_EVENTS = /^[\s\S]*(?:\n\n|\r\r|\r\n\r\n)/;

function isEventStream({ headers }: AppHead): boolean {
  return headers["content-type"]?.startsWith("text/event-stream") === true;
}

/** The events by which a stream says how it was paid: `_meta` has that. */
const OWN_EVENTS = /^event: payment-(?:receipt|limit|pending)\ndata: .*\n\n/gm;

function withoutOwnEvents(events: string): string {
  return events.replace(OWN_EVENTS, "");
}

/** The body of a response, without what a stream says about its payment. */
export function textOf(response: AppResponse): string {
  const text = response.body.toString("utf8");
  return isStreamed(response) && isEventStream(response) ? withoutOwnEvents(text) : text;
}

/** What the trailers of a streamed response say about its payment, on its result. */
export function withTrailers(result: CallToolResult, { trailers, brokenBy }: AppResponse): CallToolResult {
  const early = toEarlyEnd(trailers["payment-error"]);
  const header = trailers["payment-response"];
  const receipt: SettlementResponse | undefined = header === undefined ? undefined : decodePaymentResponse(header);
  const failed = brokenBy === undefined ? result : { ...result, isError: true };
  return withEnd(early === undefined ? failed : withEarlyEnd(failed, early), { receipt, proof: [] });
}
