/**
 * The payers of a sequence: what they have signed, what they have sent, and what they received.
 *
 * @module
 */
import type { PaymentRequired } from "@farebox/core";
import { createLatch } from "../faults/latch.js";
import type { Change } from "../faults/random/plan.js";
import { type Exchange, send } from "./client.js";
import type { Order } from "./handler.js";
import type { SendStep } from "./plan.js";
import { noteResponse } from "./responses.js";
import type { Stage } from "./stage.js";
import type { Transcript } from "./transcript.js";
import { changed, type Payment, sign, type Variant, write } from "./wallet.js";

/** A request that was sent. */
export interface Request {
  readonly number: number;
  readonly payment: Payment | undefined;
  readonly exchange: Exchange;
  isNoted: boolean;
}

interface Wish {
  readonly seller: number;
  readonly path: string;
  readonly order: Order;
  readonly payment?: Payment;
  readonly variant?: Variant;
  readonly token?: string | undefined;
}

export class Payers {
  readonly payments: Payment[] = [];
  /** What the handler is to do, by request. */
  readonly orders: Order[] = [];
  readonly #stage: Stage;
  readonly #transcript: Transcript;
  readonly #requests: Request[] = [];

  constructor(stage: Stage, transcript: Transcript) {
    this.#stage = stage;
    this.#transcript = transcript;
  }

  /** A payment that was signed before. */
  find(wish: number): Payment | undefined {
    return wish === 0 ? undefined : this.payments[(wish - 1) % Math.max(this.payments.length, 1)];
  }

  async sign(step: SendStep, challenge: PaymentRequired, nowMs: number): Promise<Payment> {
    const payment = await sign(step, this.payments.length + 1, challenge, nowMs);
    this.payments.push(payment);
    return payment;
  }

  /** `payment 1`, if a request has one. */
  paymentOf(request: number): string {
    const payment = this.#requests[request]?.payment;
    return payment === undefined ? "" : `payment ${payment.number}`;
  }

  /** Which payment an identity, or a nonce, belongs to. */
  nameOf(text: string): string {
    if (text === "") return "";
    const lower = text.toLowerCase();
    const found = this.payments.find(({ nonce }) => lower.includes(nonce) || lower.includes(BigInt(nonce).toString()));
    return found === undefined ? "" : `payment ${found.number}`;
  }

  ask(seller: number, path: string): Request {
    return this.#open({ seller, path, order: plainly("nothing") });
  }

  send(payment: Payment, change: Change, order: Order, seller: number): Request {
    const variant = changed(payment.home, change);
    return this.#open({ seller, path: variant.path, order, payment, variant });
  }

  /** The payer sends the payment once more, as it was sent first. */
  comeBack(payment: Payment): void {
    // Every other payer kept the token that says who it is.
    const tokens = this.#requests
      .filter((one) => one.payment === payment)
      .map(({ exchange }) => exchange.received?.headers["payment-retry-token"])
      .filter((token) => typeof token === "string");
    const token = payment.number % 2 === 0 ? tokens.at(-1) : undefined;
    const { home } = payment;
    this.#open({ seller: 0, path: home.path, order: plainly("half"), payment, variant: home, token });
  }

  #open({ seller, path, order, payment, variant, token }: Wish): Request {
    const number = this.#requests.length;
    this.orders[number] = order;
    const header = payment === undefined || variant === undefined ? undefined : write(payment, variant);
    const { places, agent } = this.#stage;
    const exchange = send({
      port: places[seller % places.length]?.port ?? 0,
      agent,
      method: path === "/free" ? "GET" : "POST",
      path,
      headers: {
        ...(header !== undefined && { "payment-signature": header, "x-payer": String(payment?.payer) }),
        ...(token !== undefined && { "payment-retry-token": token }),
        "x-request": String(number),
        "x-model": String(variant?.model ?? 1),
      },
      body: JSON.stringify({ wish: variant?.wish ?? 1 }),
      from: variant?.from ?? "127.0.0.1",
      leavesInTheMiddle: order.client === "leaves in the middle",
    });
    const request: Request = { number, payment, exchange, isNoted: false };
    this.#requests.push(request);
    return request;
  }

  /** Whether any wait for a response. */
  get areWaiting(): boolean {
    return this.#requests.some(({ exchange }) => !exchange.isOver);
  }

  /** Leaves, and notes it, where nothing brings a response. */
  giveUp(): void {
    for (const { exchange, number } of this.#requests) {
      if (exchange.isOver) continue;
      this.#transcript.note("response", `request ${number}`, "never ends");
      exchange.leave();
    }
  }

  noteResponses(): void {
    for (const request of this.#requests) {
      if (request.isNoted || !request.exchange.isOver) continue;
      request.isNoted = true;
      noteResponse(this.#transcript, `request ${request.number}`, request.exchange);
    }
  }

  /** Ends what is left of it. */
  end(): void {
    for (const { letGo } of this.orders) letGo.open();
    for (const { exchange } of this.#requests) if (!exchange.isOver) exchange.leave();
  }
}

/** What the handler does where nothing else is said. */
function plainly(amount: Order["amount"]): Order {
  const letGo = createLatch();
  letGo.open();
  return { handler: "answers", amount, client: "reads all", begin: undefined, letGo, onRun: () => {} };
}
