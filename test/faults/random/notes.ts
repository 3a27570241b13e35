/**
 * What is noted while a sequence runs: payments, requests and their answers, runs of handlers. Judged at the end.
 *
 * @module
 */
import type { IncomingHttpHeaders } from "node:http";
import type { PaymentPayload } from "@farebox/core";
import type { Payer } from "@farebox/testing";
import type { AnyHandler, Condition, SendStep, WRITINGS } from "./plan.js";

/** What a request asks for with its payment. */
export interface Variant {
  readonly path: "/goods" | "/more";
  readonly wish: number;
  /** A header. */
  readonly model: number;
  readonly id: "own" | "other" | "none";
  readonly writing: "as signed" | "reversed" | (typeof WRITINGS)[number];
  readonly condition: Condition | undefined;
  /** The client's own address. */
  readonly from: "127.0.0.1" | "127.0.0.2";
}

export interface Payment {
  /** What it is called in reports: `payment 1`. */
  readonly name: string;
  readonly payer: Payer;
  readonly nonce: string;
  readonly signature: string;
  /** As the store has it. */
  readonly identity: string;
  readonly document: PaymentPayload;
  readonly hasId: boolean;
  readonly expiresAtMs: number;
  /** Until then what is on record of it is kept at least. */
  readonly keptUntilMs: number;
  /** What it was sent for first. */
  readonly home: Variant;
}

/** What the handler is to do for one request. */
export interface Order {
  readonly handler: AnyHandler;
  readonly client: SendStep["client"];
  /** The handler waits for this before it does anything. */
  readonly begin: Promise<void> | undefined;
  /** A handler that hangs is let go. */
  readonly letGo: Promise<void>;
  /** Called when the handler runs. */
  readonly onRun: () => void;
}

/** One run of a handler. */
export interface Run {
  readonly id: number;
  readonly request: Request;
  /** Whether the money had moved when it began. */
  readonly isPaid: boolean;
  /** Whether its answer is longer than what is held back. */
  isLarge: boolean;
  /** The handler is through, was told to stop, or is dead. */
  isOver: boolean;
  /** Whether it was told to stop, or died with its process. */
  isStopped: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** What was received of it. */
  body: string;
  /** All of it arrived. */
  isWhole: boolean;
  /** Whether the money had moved when its first byte arrived. */
  readonly isPaid: boolean;
  /** What was on record then. */
  readonly state: string | undefined;
}

/** One request that carried a payment. */
export interface Request {
  readonly id: number;
  readonly payment: Payment;
  readonly sentAtMs: number;
  readonly variant: Variant;
  readonly order: Order;
  /** Whether no other request with the same payment was under way at the same time. */
  isAlone: boolean;
  isUnderWay: boolean;
  /** What was so when it was sent. */
  readonly before: {
    readonly isPaid: boolean;
    readonly state: string | undefined;
    readonly hasId: boolean;
    /** Which of the payment's ids is on record; `undefined`: none, or it is not clear. */
    readonly id: Variant["id"] | undefined;
    /** A whole answer had been received for the money, and none had broken off. */
    readonly isDelivered: boolean;
  };
  answer: Answer | undefined;
  /** An answer that was paid for was handed to the network, all of it, while the client was there. */
  isHandedOver: boolean;
  /** The process that had it is dead. */
  isOrphan: boolean;
}

export interface Notes {
  readonly payments: Payment[];
  readonly requests: Request[];
  readonly runs: Run[];
  /** Found while the sequence ran. */
  readonly found: string[];
  readonly log: string[];
  /** Something went wrong that may keep the facilitator from honest payments. */
  isTroubled: boolean;
}

export function createNotes(): Notes {
  return { payments: [], requests: [], runs: [], found: [], log: [], isTroubled: false };
}

/** The first line of a priced body says what it was made for. */
export interface Goods {
  readonly goods: number;
  readonly payment: string;
  readonly path: string;
  readonly wish: number;
  readonly model: number;
}

/** Reads the first line of a priced body; `undefined` when the body is not priced. */
export function readGoods(body: string): Goods | undefined {
  if (!body.startsWith('{"goods":')) return undefined;
  const end = body.indexOf("\n");
  return end === -1 ? undefined : (JSON.parse(body.slice(0, end)) as Goods);
}

/** Whether an answer is one that was paid for, with a receipt that says so. */
export function readReceipt({ headers }: Answer): { readonly success?: boolean; readonly transaction?: string } {
  const value = headers["payment-response"];
  if (typeof value !== "string") return {};
  return JSON.parse(Buffer.from(value, "base64").toString("utf8")) as object;
}
