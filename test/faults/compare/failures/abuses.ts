/**
 * Clients, and facilitators, that use what a seller allows: for goods without a charge, for a second charge, or to close the shop.
 *
 * @module
 */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { Failure, Seen } from "../failure.js";
import { MEGABYTE_UNITS, MEGABYTES } from "../goods.js";
import type { Reply, Scene } from "../scene.js";

const MB = 1024 * 1024;

/** How long a client does not read. */
const STALL_MS = 1_000;

/** How many megabytes it reads then. */
const READ_MEGABYTES = 32;

/** How much the sockets of both sides hold, so that a server cannot know whether it arrived. */
const SOCKET_MEGABYTES = 16;

export const ABUSES: readonly Failure[] = [
  {
    failure: "handler sets a cookie, then answers 404",
    plan: { goods: "a cookie, then 404" },
    expected: { answers: [404], notes: ["no cookie"], runs: 1, debits: 0 },
    act: async (scene) => {
      const { status, headers } = await scene.buy();
      return { answers: [status], notes: [headers["set-cookie"] === undefined ? "no cookie" : "with the cookie"] };
    },
  },
  {
    failure: "client adds `permit2Authorization: {}` and a made-up field to its signed payload",
    expected: { answers: [200], notes: ["facilitator got what was signed"], runs: 1, debits: 1 },
    act: addFields,
  },
  {
    failure: "two facilitators, the first refuses each settlement with 402 and no document; five payers buy once",
    plan: { hasSecondFacilitator: true },
    plant: (faults) => faults.always("settle", { kind: "status", status: 402, body: "The free tier is used up" }),
    expected: { answers: ["3 × 503", "2 × 200"], runs: 5, debits: 2 },
    act: buyAsFive,
  },
  {
    failure:
      "settle: the money moves, the connection is reset each time; client sends the same payment without its identifier",
    plant: (faults) => faults.always("settle", { kind: "drop", when: "after" }),
    expected: { answers: [503, 503], notes: ["not asked to pay anew"], runs: 1, debits: 1 },
    act: forgetIdentifier,
  },
  {
    failure: `\`upto\` 10000, ${MEGABYTES} MB, handler charges ${MEGABYTE_UNITS} for each, metered; client stalls, reads ${READ_MEGABYTES} MB, and resets`,
    plan: { goods: "megabytes, charged one by one", scheme: "upto", isMetered: true },
    expected: { answers: [200], notes: ["charged for what may have arrived"], runs: 1, debits: 1 },
    act: readAndReset,
  },
  {
    failure: "`Host: localhost`, handler redirects to a signed URL below the host that the client named",
    plan: { goods: "by a link below the host that the client named" },
    expected: { answers: [302], runs: 1, debits: 1 },
    act: async (scene) => ({ answers: [(await scene.buy({ headers: { Host: "localhost" } })).status] }),
  },
];

/** Sends what was signed, and more. */
async function addFields(scene: Scene): Promise<Seen> {
  const signed = await scene.sign();
  const payment = { ...signed, payload: { ...signed.payload, permit2Authorization: {}, note: "made up" } };
  const { status } = await scene.buy({ payment });
  const names = new Set(scene.payloads().flatMap((payload) => Object.keys(payload)));
  const isSigned = [...names].every((name) => name in signed.payload);
  return { answers: [status], notes: [`facilitator got ${isSigned ? "what was signed" : "all of it"}`] };
}

async function buyAsFive(scene: Scene): Promise<Seen> {
  const statuses: Reply["status"][] = [];
  for (let payer = 0; payer < 5; payer++) statuses.push((await scene.buyAsAnother()).status);
  const counted = [...new Set(statuses)].map((status) => {
    const count = statuses.filter((other) => other === status).length;
    return count === 1 ? status : `${count} × ${status}`;
  });
  return { answers: counted };
}

/** Pays with an identifier, and comes back without it, as somebody does who has lost its memory. */
async function forgetIdentifier(scene: Scene): Promise<Seen> {
  const payment = await scene.sign();
  const info = { required: false, id: "an-identifier-of-the-client" };
  const extensions = { ...payment.extensions, "payment-identifier": { info, schema: {} } };
  const first = await scene.buy({ payment: { ...payment, extensions } });
  const again = await scene.buy({ payment });
  const isAsked = again.challenge !== undefined;
  return { answers: [first.status, again.status], notes: [`${isAsked ? "" : "not "}asked to pay anew`] };
}

async function readAndReset(scene: Scene): Promise<Seen> {
  const headers = { "PAYMENT-SIGNATURE": encodePaymentSignature(await scene.sign()) };
  const asking = get(scene.url, { headers, agent: false });
  const [answer]: IncomingMessage[] = await once(asking, "response");
  if (answer === undefined) return { answers: ["no answer"] };
  await delay(STALL_MS);
  let received = 0;
  try {
    for await (const piece of answer) {
      received += piece.length;
      if (received >= READ_MEGABYTES * MB) break;
    }
  } catch {
    // What arrived until then counts.
  }
  asking.socket?.resetAndDestroy();
  await scene.called("settle");
  for (let tries = 0; tries < 200 && scene.settled().length === 0; tries++) await delay(20);
  await delay(STALL_MS);
  const charged = Number(scene.settled()[0] ?? 0) / MEGABYTE_UNITS;
  const megabytes = received / MB;
  const said = () => {
    if (charged === 0) return "not charged at all";
    if (charged < Math.floor(megabytes)) return "charged for less than what arrived";
    return charged > megabytes + SOCKET_MEGABYTES
      ? "charged for what cannot have arrived"
      : "charged for what may have arrived";
  };
  return { answers: [answer.statusCode ?? 0], notes: [said()] };
}
