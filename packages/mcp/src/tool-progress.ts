/**
 * What a tool sends before its result: progress notifications with parts of its output, and with what it has cost so far.
 *
 *   progress(text)   the first text that costs something: is it for sale? (metering.start)
 *                    may it go out? → to the transport → it counts as delivered
 *   the maximum      what was given before goes out, and nothing more
 *   the end          what was delivered settles (tool-call.ts)
 *
 * While a payment settles, any tool says so every now and then: a client that gives up early would pay for a result that it does not read.
 *
 * A client that takes no notifications gets all of it with the result, which is held until it has settled.
 *
 * @see `docs/get-started/mcp-tools.md`, "Metered tools"
 * @module
 */
import type { Payment } from "@farebox/core";
import type { GateResponse, HeldAdmission, Metering, PaymentsEngine, Release, StreamEnd } from "@farebox/core/adapter";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallExtra, ToolProgress } from "./tool-config.js";
import { RETRY_TOKEN_KEY, type ToolCall } from "./tool-request.js";
import { RESULT_TYPE } from "./tool-response.js";

/** The key of {@link Cost} in the `_meta` of a notification. */
const COST_KEY = "farebox/cost";

/** What a call has cost so far. Amounts are atomic units. */
export interface Cost extends Pick<Payment, "amount" | "remaining" | "maxAmount" | "asset" | "network"> {
  /** Where the receipt is, for a client that cancels the call. */
  readonly receiptUrl?: string;
}

/** What a payment costs as things stand. */
export function costOf({ amount, remaining, maxAmount, asset, network }: Payment): Cost {
  return { amount, remaining, maxAmount, asset, network };
}

/** Sends the progress notifications of one call. */
export class Notifier {
  readonly #call: Pick<ToolCall, "server" | "extra">;
  /** Clients may insist that it grows with each notification. */
  #progress = -1;

  constructor(call: Pick<ToolCall, "server" | "extra">) {
    this.#call = call;
  }

  /** A handler has sent a notification of its own. The next one of ours is to say more. */
  saw({ method, params }: Parameters<CallExtra["sendNotification"]>[0]): void {
    if (method === "notifications/progress") this.#progress = Math.max(this.#progress, params.progress);
  }

  /** Whether the client takes notifications, and would get the next one. */
  get isHeard(): boolean {
    const { server, extra } = this.#call;
    const { transport } = server.server;
    const isOpen = transport !== undefined && !extra.signal.aborted;
    return extra._meta?.progressToken !== undefined && isOpen && !isDropping(transport, extra);
  }

  /** Resolves to whether the transport took it. Never rejects. */
  async send(message: string | undefined, cost: Cost | undefined, token?: string): Promise<boolean> {
    const { extra } = this.#call;
    const progressToken = extra._meta?.progressToken;
    if (progressToken === undefined || !this.isHeard) return false;
    this.#progress = nextProgress(this.#progress, cost);
    const _meta = { ...(cost && { [COST_KEY]: cost }), ...(token !== undefined && { [RETRY_TOKEN_KEY]: token }) };
    try {
      await extra.sendNotification({
        method: "notifications/progress",
        params: {
          progressToken,
          progress: this.#progress,
          ...(cost === undefined ? {} : { total: Number(cost.maxAmount) }),
          ...(cost === undefined && token === undefined ? {} : { _meta }),
          ...(message === undefined ? {} : { message }),
        },
      });
      return true;
    } catch {
      return false;
    }
  }
}

/** What it has cost, or else how many notifications there were. Without a charge it grows by a millionth of a unit. */
function nextProgress(last: number, cost: Cost | undefined): number {
  const next = cost === undefined ? Math.max(last, 0) + 1 : Number(cost.amount);
  return next > last ? next : last + Math.max(1e-6, last * Number.EPSILON);
}

/**
 * Whether the SDK's transport over HTTP drops the notifications of a call: if it responds with JSON, and when the call's stream has
 * broken and no store keeps its events. It reports neither, so its own fields are read.
 */
function isDropping(transport: Transport, { requestId }: CallExtra): boolean {
  const http = (Reflect.get(transport, "_webStandardTransport") ?? transport) as object;
  if (Reflect.get(http, "_enableJsonResponse") === true) return true;
  const streams: unknown = Reflect.get(http, "_streamMapping");
  const requests: unknown = Reflect.get(http, "_requestToStreamMapping");
  if (!(streams instanceof Map && requests instanceof Map)) return false;
  return Reflect.get(http, "_eventStore") === undefined && !streams.has(requests.get(requestId));
}

/** A client begins its wait anew with each notification, if it wants to. */
const SETTLING_EVERY_MS = 500;

/** Notifications to a client while its payment settles. Never a text: clients take texts for a part of the output. */
interface SettlingNotice {
  readonly timer: PaymentsEngine["timer"];
  readonly cost?: Cost | undefined;
  /** By which the client proves that it is the payer, if it gives up and calls again. It goes out at once. */
  readonly token?: string | undefined;
}

/** Tells the client until a settlement has ended that it is under way. Yields what the settlement does. */
export async function whileSettling<T>(
  settling: Promise<T>,
  notifier: Notifier,
  { timer, cost, token }: SettlingNotice,
): Promise<T> {
  if (!notifier.isHeard) return settling;
  const wait = () => timer(tell, SETTLING_EVERY_MS);
  const tell = () => {
    void notifier.send(undefined, cost, token);
    stop = wait();
  };
  let stop = wait();
  if (token !== undefined) void notifier.send(undefined, cost, token);
  try {
    return await settling;
  } finally {
    stop();
  }
}

/** A call, and the one notifier of all that it hears. */
export interface HeardCall extends ToolCall {
  readonly notifier: Notifier;
}

/** The progress of a call that is not metered: a text goes out only if nothing has to be paid for it any more. */
export function createProgress(notifier: Notifier, { isPaid }: { readonly isPaid: boolean }): ToolProgress {
  return async (text) => {
    if (isPaid) await notifier.send(toText(text), undefined);
  };
}

/** Without types, a handler may pass anything. */
function toText(text: unknown): string | undefined {
  return text === undefined || text === "" ? undefined : String(text);
}

/** One text of the handler's, and what was charged when it was given. */
interface Part {
  readonly text: string | undefined;
  readonly charged: Metering["charged"];
  readonly cost: Cost;
}

/** How the output of a call ends before its handler does. */
export type OutputEnd =
  /** The call is not for sale, as it turned out: the client gets this. */
  | { readonly kind: "replaced"; readonly response: GateResponse }
  /** The payment's time is over. */
  | { readonly kind: "stopped" };

/** The output of a metered call. */
export class MeteredOutput {
  readonly #admission: HeldAdmission;
  readonly #metering: Metering;
  readonly #notifier: Notifier;
  /** How much of the output is kept for the result, in characters. */
  readonly #most: number;
  #texts: string[] = [];
  #length = 0;
  /** What the kept texts cost, in atomic units. */
  #keptAmount = "0";
  #start: Promise<void> | undefined;
  #release: Release | undefined;
  /** Resolves when all that was given so far has gone out, or never will. */
  #sending: Promise<void> = Promise.resolve();
  /** The notification that the transport has. */
  #passing: Promise<unknown> = Promise.resolve();
  #isOver = false;
  #onEnd: ((end: OutputEnd) => void) | undefined;
  #cut: (() => void) | undefined;

  constructor(notifier: Notifier, admission: HeldAdmission, metering: Metering, most: number) {
    this.#admission = admission;
    this.#metering = metering;
    this.#notifier = notifier;
    this.#most = most;
    metering.onStop((reason) => {
      if (reason !== "expired" && reason !== "client_gone") return;
      this.#isOver = true;
      this.#cut?.();
      this.#onEnd?.({ kind: "stopped" });
    });
  }

  /** Sets the one listener. */
  onEnd(listener: (end: OutputEnd) => void): void {
    this.#onEnd = listener;
  }

  /** For the handler. */
  readonly progress: ToolProgress = (given) => {
    const { payment } = this.#admission;
    if (this.#isOver || payment.signal.aborted) return this.#sending;
    const text = toText(given);
    const part = { text, charged: this.#metering.charged, cost: costOf(payment) };
    if (this.#start === undefined && !this.#notifier.isHeard) this.#keep(part);
    else {
      // What costs nothing needs no payment. What nobody knows the cost of does.
      if (text !== undefined && (part.charged > 0n || this.#metering.isRefused)) this.#start ??= this.#begin();
      this.#sending = this.#sending.then(() => this.#send(part));
    }
    return this.#sending;
  };

  /** Whether something went out, or was about to, before the call was paid for. Then {@link MeteredOutput.finish} settles it. */
  get isStarted(): boolean {
    return this.#start !== undefined;
  }

  /** The text that the client has, or that its result would have. Without what exceeds the limit. */
  get text(): string {
    return this.#texts.join("");
  }

  /** What {@link MeteredOutput.text} costs, in atomic units. */
  get textAmount(): string {
    return this.#keptAmount;
  }

  /** Resolves when all that the handler gave has gone out. `release`: what was said about the first of it. */
  async flushed(): Promise<Release | undefined> {
    const cut = new Promise<void>((resolve) => {
      this.#cut = resolve;
    });
    if (!this.#isOver) await Promise.race([this.#sending, cut]);
    this.#isOver = true;
    await this.#start;
    return this.#release;
  }

  /** Settles what was delivered. Never rejects. @param isWhole - Whether the result is delivered as well. */
  finish(isWhole: boolean): Promise<StreamEnd> {
    this.#isOver = true;
    return this.#metering.finish(isWhole);
  }

  /** The client has left: it pays for what went out. Never rejects. */
  async leave(): Promise<void> {
    this.#isOver = true;
    await Promise.all([this.#start, this.#passing]);
    if (this.#release?.kind === "release" && this.#release.paid) await this.finish(false);
  }

  async #begin(): Promise<void> {
    const response = { status: 200, headers: [["Content-Type", RESULT_TYPE]], body: undefined } as const;
    const release = await this.#metering.start(response);
    this.#release = release;
    if (release.kind === "release") return;
    this.#isOver = true;
    this.#onEnd?.({ kind: "replaced", response: release.response });
  }

  get #receiptUrl(): string | undefined {
    if (this.#release?.kind !== "release") return undefined;
    const url = this.#release.headers.find(([name]) => name === "PAYMENT-RECEIPT-URL")?.[1];
    // A tool that is known by its name alone has no server to ask.
    return url?.startsWith("http") ? url : undefined;
  }

  async #send(part: Part): Promise<void> {
    const { text, charged } = part;
    if (this.#start !== undefined) await this.#start;
    const isMetered = this.#release?.kind === "release" && this.#release.paid;
    let room: Promise<void> | undefined;
    do {
      await room;
      if (this.#isOver || this.#metering.stopped === "exposure") return;
      room = isMetered ? this.#metering.mayWrite(charged) : undefined;
    } while (room !== undefined);
    const receiptUrl = this.#receiptUrl;
    const passing = this.#notifier.send(text, receiptUrl === undefined ? part.cost : { ...part.cost, receiptUrl });
    this.#passing = passing;
    if (!(await passing) || text === undefined) return;
    if (isMetered) this.#metering.delivered(charged);
    this.#keep(part);
  }

  #keep({ text, cost }: Part): void {
    if (text === undefined || this.#length + text.length > this.#most) {
      // The rest would have a gap.
      if (text !== undefined) this.#length = this.#most;
      return;
    }
    this.#texts.push(text);
    this.#length += text.length;
    this.#keptAmount = cost.amount;
  }
}
