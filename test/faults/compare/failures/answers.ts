/**
 * Answers that are no sale, or that must not be collected before they are sent.
 *
 * @module
 */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { Failure, Seen } from "../failure.js";
import { LARGE_BYTES } from "../goods.js";
import { BROKEN_OFF, type Scene } from "../scene.js";

const MB = 1024 * 1024;

/** How long a client does not read. */
const STALL_MS = 1_000;

const buyOnce: Failure["act"] = async (scene) => ({ answers: [(await scene.buy()).status] });

export const ANSWERS: readonly Failure[] = [
  {
    failure: "handler answers 404",
    plan: { goods: "not found" },
    expected: { answers: [404], runs: 1, debits: 0 },
    act: buyOnce,
  },
  {
    failure: "handler throws",
    plan: { goods: "throwing" },
    expected: { answers: [500], runs: 1, debits: 0 },
    act: buyOnce,
  },
  {
    failure: "handler does `res.writeHead(500)`",
    plan: { goods: "writeHead(500)" },
    expected: { answers: [500], runs: 1, debits: 0 },
    act: buyOnce,
  },
  {
    failure: "handler responds, then throws",
    plan: { goods: "sent, then throwing" },
    expected: { answers: [200], runs: 1, debits: 1 },
    act: buyOnce,
  },
  {
    failure: "handler calls `res.flushHeaders()`, then throws",
    plan: { goods: "flushed, then throwing" },
    expected: { answers: ["an error"], runs: 1, debits: 0 },
    act: buyNothing,
  },
  {
    failure: "handler writes a comment of an event stream, then throws",
    plan: { goods: "a comment, then throwing" },
    expected: { answers: ["an error"], runs: 1, debits: 0 },
    act: buyNothing,
  },
  {
    failure: "handler ends after 5 bytes of `Content-Length: 1000`",
    plan: { goods: "shorter than its Content-Length" },
    expected: { answers: [500], runs: 1, debits: 0 },
    act: buyOnce,
  },
  {
    failure: "handler redirects to a signed URL of another server",
    plan: { goods: "a link" },
    expected: { answers: [302], runs: 1, debits: 1 },
    act: buyOnce,
  },
  {
    failure: "handler redirects to a priced URL of the same table, client follows with its payment",
    plan: { goods: "at another URL" },
    expected: { answers: [302, 200], runs: 2, debits: 1 },
    act: follow,
  },
  {
    failure: "`GET` with `If-None-Match: *`, whose 304 would go out for nothing, with its headers",
    plan: { goods: "with an ETag" },
    expected: { answers: [200], runs: 1, debits: 1 },
    act: async (scene) => ({ answers: [(await scene.buy({ headers: { "If-None-Match": "*" } })).status] }),
  },
  {
    failure: "client leaves while the handler works, comes back with the same payment",
    plan: { goods: "for a client that leaves" },
    expected: { answers: [200], runs: 2, debits: 1 },
    act: leaveAndComeBack,
  },
  {
    failure: "five events in two seconds, headers flushed first",
    plan: { goods: "events, flushed" },
    expected: { answers: [200], notes: ["first event 2 s before the last"], runs: 1, debits: 1 },
    act: listen,
  },
  {
    failure: "five events in two seconds, only written",
    plan: { goods: "events, only written" },
    expected: { answers: [200], notes: ["first event 2 s before the last"], runs: 1, debits: 1 },
    act: listen,
  },
  {
    failure: "200 MB streamed to a client that does not read for a second",
    plan: { goods: "large" },
    expected: { answers: [200], notes: ["waits for the client", "at most 100 MB of memory"], runs: 1, debits: 1 },
    act: stall,
  },
  {
    failure: "handler awaits the callback of each write",
    plan: { goods: "awaiting each write" },
    expected: { answers: [200], runs: 1, debits: 1 },
    act: buyOnce,
  },
];

/** Buys once. Express breaks off the connection where the head is out, and responds 500 where it is not. */
async function buyNothing(scene: Scene): Promise<Seen> {
  const { status } = await scene.buy();
  return { answers: [status === 500 || status === BROKEN_OFF ? "an error" : status] };
}

/** Follows a redirect as `fetch` does: with the same headers. */
async function follow(scene: Scene): Promise<Seen> {
  const first = await scene.buy();
  const { location } = first.headers;
  if (location === undefined || first.payment === undefined) return { answers: [first.status] };
  const second = await scene.buy({ path: location, payment: first.payment });
  const last = second.status === 402 ? await scene.buy({ path: location }) : undefined;
  return { answers: [first, second, last].flatMap((reply) => (reply === undefined ? [] : [reply.status])) };
}

async function leaveAndComeBack(scene: Scene): Promise<Seen> {
  const payment = await scene.sign();
  const client = new AbortController();
  const leaving = scene.buy({ payment, signal: client.signal });
  await scene.seller.told("working");
  client.abort();
  await leaving;
  await scene.seller.told("answered");
  await scene.called("settle");
  return { answers: [(await scene.buy({ payment })).status] };
}

async function listen(scene: Scene): Promise<Seen> {
  const answer = await open(scene, encodePaymentSignature(await scene.sign()));
  const times: number[] = [];
  for await (const _event of answer) times.push(performance.now());
  const ahead = Math.round((times.at(-1)! - times[0]!) / 500) / 2;
  return { answers: [answer.statusCode ?? 0], notes: [`first event ${ahead} s before the last`] };
}

/** Leaves the answer unread for a while, and then reads it. */
async function stall(scene: Scene): Promise<Seen> {
  const payment = encodePaymentSignature(await scene.sign());
  const before = await scene.seller.usage();
  const answer = await open(scene, payment);
  await delay(STALL_MS);
  const unread = await scene.seller.usage();
  let received = 0;
  for await (const piece of answer) received += piece.length;
  const after = await scene.seller.usage();
  const memory = Math.ceil((after.peakKilobytes - before.peakKilobytes) / 1024 / 100) * 100;
  const waits = unread.produced < LARGE_BYTES / 2 ? "waits for the client" : "does not wait for the client";
  const whole = received === LARGE_BYTES ? [] : [`${Math.round(received / MB)} MB arrived`];
  return { answers: [answer.statusCode ?? 0], notes: [waits, `at most ${memory} MB of memory`, ...whole] };
}

/** An answer whose body has not been read. */
async function open({ url }: Scene, payment: string): Promise<IncomingMessage> {
  const [answer] = await once(get(url, { headers: { "PAYMENT-SIGNATURE": payment }, agent: false }), "response");
  return answer;
}
