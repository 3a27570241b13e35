/**
 * A client that does not behave: it leaves when it likes, and notes what it has received until then.
 *
 * @module
 */
import { type ClientRequest, type IncomingMessage, request as open } from "node:http";
import type { Answer } from "./notes.js";
import type { SendStep } from "./plan.js";
import { takeSteps } from "./time.js";

/** What is sent, and how its answer is read. */
export interface Sending {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The client's own address. */
  readonly from: string;
  readonly reading: SendStep["client"];
  /** Called as the first byte arrives. */
  readonly begin: (message: IncomingMessage) => Answer;
}

/** A request under way. */
export interface Exchange {
  /** Resolves when nothing more is to come. Never rejects. */
  readonly done: Promise<Answer | undefined>;
  leave(): void;
  halfClose(): void;
}

/** Sends a request over a connection of its own. */
export function send({ port, path, headers, body, from, reading, begin }: Sending): Exchange {
  const sent: ClientRequest = open({
    host: "127.0.0.1",
    port,
    path,
    localAddress: from,
    method: "POST",
    agent: false,
    headers: { ...headers, "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) },
  });
  const done = new Promise<Answer | undefined>((resolve) => {
    sent.once("response", (message) => {
      const answer = begin(message);
      read(message, answer, () => resolve(answer));
      if (reading === "leaves in the middle") leaveAfterFirstPart(message, sent);
      if (reading === "reads slowly") readSlowly(message);
    });
    sent.once("error", () => resolve(undefined));
    sent.once("close", () => resolve(undefined));
  });
  sent.end(body);
  return { done, leave: () => void sent.destroy(), halfClose: () => void sent.socket?.end() };
}

function read(message: IncomingMessage, answer: Answer, over: () => void): void {
  let length = 0;
  message.on("data", (chunk: Buffer) => {
    // The first part says all there is to say.
    if (length < 1_000) answer.body += chunk.toString("utf8");
    length += chunk.byteLength;
  });
  message.once("end", () => {
    answer.isWhole = message.complete;
  });
  message.once("error", () => {});
  message.once("close", over);
}

/** Long enough for the other side to run out of room. */
const STEPS_BETWEEN_PARTS = 30;

/** Takes one part after another, and nothing in between. */
function readSlowly(message: IncomingMessage): void {
  message.on("data", () => {
    message.pause();
    void takeSteps(STEPS_BETWEEN_PARTS).then(() => message.resume());
  });
}

function leaveAfterFirstPart(message: IncomingMessage, sent: ClientRequest): void {
  message.once("data", () => {
    message.pause();
    sent.destroy();
  });
}
