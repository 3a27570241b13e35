/**
 * Sequences that are played first: those that something was wrong with once, and some that come about too seldom.
 *
 * @module
 */
import {
  ALL_CHANGES,
  ALL_SETTLE_FAULTS,
  HOSTILE,
  HOSTILITIES,
  REFUSALS,
  type SellerPlan,
  type SendStep,
  type Sequence,
  SMALL_HOLD_BYTES,
  VERIFY_FAULTS,
} from "./plan.js";

const SELLER: SellerPlan = {
  way: "table",
  settle: "after",
  holdBytes: SMALL_HOLD_BYTES,
  copyWaitMs: 10_000,
  store: "memory",
  facilitators: 1,
  supported: "yes",
  pricing: "fixed",
};

const SEND: SendStep = {
  kind: "send",
  payment: 0,
  payer: 0,
  isShort: false,
  hasId: false,
  change: "none",
  copies: 0,
  copyChange: "none",
  seller: 0,
  handler: "streams a large answer",
  client: "reads all",
  moment: undefined,
  verify: undefined,
  settle: undefined,
};

const LEAVES = { when: "being settled", doing: "the client leaves" } as const;

const PAID: SendStep = { ...SEND, handler: "answers" };
const POISON: SendStep = { ...PAID, payer: HOSTILE };
const LEFT: SendStep = {
  ...SEND,
  handler: "goes on when the client has left",
  moment: { when: "being served", doing: "the client leaves" },
};
const COPIES = { when: "settled, but not answered for", doing: "its copies come" } as const;

export const KNOWN: readonly Sequence[] = [
  // The money moved while the client left, and the answer was too large to keep: it was gone without a byte sent.
  { seller: SELLER, steps: [{ ...SEND, moment: LEAVES }] },
  { seller: SELLER, steps: [{ ...SEND, hasId: true, moment: LEAVES }] },
  // The same when the money turned out to have moved before: the handler never ran again.
  {
    seller: SELLER,
    steps: [
      { ...SEND, settle: "drop after" },
      { ...SEND, payment: 1, moment: LEAVES },
    ],
  },
  // And when the client left while the handler ran again.
  {
    seller: SELLER,
    steps: [
      { ...SEND, settle: "drop after" },
      { ...SEND, payment: 1, moment: { when: "being served", doing: "the client leaves" } },
    ],
  },
  // The client left each time: the third run is paid for first, and so is the fourth.
  ...[3, 4].map((times) => ({ seller: SELLER, steps: [LEFT, ...Array(times - 1).fill({ ...LEFT, payment: 1 })] })),
  // A stranger has seen the payment on chain, or its header in a log.
  { seller: SELLER, steps: [{ ...PAID, moment: COPIES, copyChange: "other address" }] },
  { seller: SELLER, steps: [{ ...PAID, moment: COPIES, hasId: true, copyChange: "without id" }] },
  {
    seller: SELLER,
    steps: [
      { ...PAID, hasId: true },
      { ...PAID, payment: 1, change: "without id" },
    ],
  },
  // Copies at once, while the first handler is at work.
  { seller: SELLER, steps: [{ ...PAID, moment: { when: "being served", doing: "its copies come" }, copies: 3 }] },
  // The machine sleeps while a payment is settled again: the lease is over, and the request still at work.
  ...(["being settled", "settled, but not answered for"] as const).map((when) => ({
    seller: SELLER,
    steps: [
      { ...PAID, settle: "drop" as const },
      { ...PAID, payment: 1, moment: { when, doing: "six minutes pass" as const } },
    ],
  })),
  // One payer's settlements make the facilitator fail: the others are served.
  ...HOSTILITIES.map((how) => ({
    seller: SELLER,
    steps: [
      { kind: "turn" as const, how },
      ...Array.from({ length: 4 }, () => POISON),
      PAID,
      { kind: "pass" as const, seconds: 35, settle: undefined },
      PAID,
    ],
  })),
  // A payment for a low price is sent with a request for a high one, and comes back for its own.
  ...(
    [
      ["by body", "other body"],
      ["by header", "other header"],
    ] as const
  ).map(([pricing, change]) => ({
    seller: { ...SELLER, pricing },
    steps: [
      { ...PAID, change },
      { ...PAID, payment: 1 },
      { ...PAID, settle: "drop" as const },
      { ...PAID, payment: 2, change },
    ],
  })),
  // Each change by itself: as the first that is sent of a payment, and as a copy of one that was sent as it is.
  ...ALL_CHANGES.flatMap((change) => [
    {
      seller: SELLER,
      steps: [
        { ...PAID, handler: "goes by conditions" as const, change },
        { ...PAID, payment: 1 },
      ],
    },
    {
      seller: SELLER,
      steps: [
        { ...PAID, settle: "drop after" as const },
        { ...PAID, payment: 1, change },
      ],
    },
    {
      seller: SELLER,
      steps: [
        { ...PAID, hasId: true, settle: "drop" as const },
        { ...PAID, payment: 1, change },
      ],
    },
  ]),
  // A facilitator refuses everybody for good; with another one beside it, and alone.
  ...([1, 2] as const).flatMap((facilitators) =>
    REFUSALS.map((status) => ({
      seller: { ...SELLER, facilitators },
      steps: [
        { kind: "refuse" as const, by: `refused by ${status}` as const },
        ...([0, 1, 2, 0] as const).map((payer) => ({ ...PAID, payer })),
        { kind: "refuse" as const, by: undefined },
        ...[1, 2, 3].map((payment) => ({ ...PAID, payment })),
      ],
    })),
  ),
  // A client takes its time, for more than is held and for less.
  ...(["answers", "streams a large answer"] as const).flatMap((handler) =>
    (["after", "before"] as const).map((settle) => ({
      seller: { ...SELLER, settle },
      steps: [{ ...SEND, handler, client: "reads slowly" as const }],
    })),
  ),
  // Each fault by itself: there are too many for sixty sequences to have them all.
  ...VERIFY_FAULTS.map((verify) => ({ seller: SELLER, steps: [{ ...PAID, verify }] })),
  ...ALL_SETTLE_FAULTS.map((settle) => ({ seller: SELLER, steps: [{ ...PAID, settle }] })),
  // A copy is told that there is nothing to keep, while the handler of the first request fails: its run is owed.
  {
    seller: { ...SELLER, settle: "before", store: "shared" },
    steps: [
      { ...SEND, handler: "writes a head with 500", copies: 1 },
      { kind: "pass", seconds: 3, settle: undefined },
    ],
  },
];
