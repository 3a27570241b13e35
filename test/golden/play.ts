/**
 * Plays a sequence, and returns its transcript.
 *
 * Nothing waits for a duration, and nothing is left to the kernel but the calls of a store behind a network. After each thing that is
 * done, `rest` lets the process go on until nothing happens any more: all bytes have arrived, and several turns of the event loop have
 * brought nothing new. Then a store gets the call that has waited longest, alone, and so on until none is left. So what is done next
 * always meets the same state, on a fast machine and on a slow one.
 *
 * @module
 */
import { createHttpFacilitator, type Facilitator, type PaymentRequired } from "@farebox/core";
import type { Payments } from "@farebox/express";
import { createLatch } from "../faults/latch.js";
import { toFault } from "../faults/random/facilitator-faults.js";
import { Chain, Faulty } from "./bank.js";
import { Clock, type Timers } from "./clock.js";
import { createHandler, type Order, type Run } from "./handler.js";
import { Payers, type Request } from "./payers.js";
import { describe, type PassStep, type SendStep, type Sequence, type Step } from "./plan.js";
import { recorded, type Scribe } from "./records.js";
import { startSeller } from "./seller.js";
import type { Stage } from "./stage.js";
import type { Connection, Shelf } from "./stores.js";
import { Transcript } from "./transcript.js";
import { isGood, type Payment } from "./wallet.js";

/** Turns of the event loop without anything new. The longest silent way between two lines takes four. */
const QUIET_TURNS = 10;

/** More than any sequence takes until it rests: each turn brings it further. */
const MOST_TURNS = 100_000;

/** Longer than any request waits for anything. */
const MOST_WAIT_MS = 1_800_000;

/** A process. */
interface Process {
  readonly payments: Payments;
  readonly connection: Connection;
  readonly timers: Timers;
  isDead: boolean;
}

/** What can fail: a facilitator in this process, or one behind HTTP. */
type Faults = Pick<Faulty, "next" | "always" | "clear">;

/** Plays a sequence. Rejects if it never comes to rest. */
export async function play(stage: Stage, sequence: Sequence): Promise<string> {
  const clock = new Clock();
  const uninstall = [clock.install(), stage.network.install()];
  try {
    const shelf = await stage.warehouse.open(clock.now);
    const game = new Game(stage, sequence, clock, shelf);
    try {
      return await game.play();
    } finally {
      await game.end();
      await shelf.close();
    }
  } finally {
    for (const one of uninstall) one();
  }
}

class Game {
  readonly #stage: Stage;
  readonly #sequence: Sequence;
  readonly #clock: Clock;
  readonly #shelf: Shelf;
  readonly #transcript = new Transcript();
  readonly #chain: Chain;
  readonly #faults: Faults[];
  readonly #facilitators: Facilitator[];
  readonly #processes: Process[] = [];
  readonly #payers: Payers;
  readonly #runs: Run[] = [];
  #challenge: PaymentRequired | undefined;

  constructor(stage: Stage, sequence: Sequence, clock: Clock, shelf: Shelf) {
    this.#stage = stage;
    this.#sequence = sequence;
    this.#clock = clock;
    this.#shelf = shelf;
    this.#payers = new Payers(stage, this.#transcript);
    this.#chain = new Chain(clock.now, isGood);
    const { facilitators, over } = sequence.seller;
    const faulty = Array.from({ length: facilitators }, () => new Faulty(this.#chain.facilitator));
    if (over === "process") {
      this.#faults = faulty;
      this.#facilitators = faulty.map(({ facilitator }) => facilitator);
      return;
    }
    stage.putBehind(this.#chain.facilitator);
    const servers = stage.servers.slice(0, facilitators);
    this.#faults = servers.map(({ faults }) => ({
      next: (operation, fault) => void faults.next(operation, fault),
      always: (operation, fault) => void faults.always(operation, fault),
      clear: () => faults.clear(),
    }));
    this.#facilitators = servers.map(({ url }) => createHttpFacilitator({ url }));
  }

  async play(): Promise<string> {
    const { seller, steps } = this.#sequence;
    const { head, lines } = describe(this.#sequence);
    this.#transcript.begin(head);
    if (seller.supported === "fails") for (const faults of this.#faults) faults.always("supported", { kind: "drop" });
    for (const at of this.#stage.places.keys()) await this.#start(at);
    await this.rest();
    for (const faults of this.#faults) faults.clear();
    for (const [at, step] of steps.entries()) {
      this.#transcript.begin(`${at + 1}. ${lines[at] ?? ""}`);
      await this.#playStep(step);
    }
    for (const faults of this.#faults) faults.clear();
    await this.rest();
    this.#transcript.begin("two minutes pass, and each payer comes back");
    await this.#pass(120_000);
    for (const payment of this.#payers.payments) {
      this.#payers.comeBack(payment);
      await this.#untilAnswered();
    }
    // Longer than any payment lives.
    this.#transcript.begin("seven minutes pass");
    await this.#pass(420_000);
    await this.#noteEnd();
    return this.#transcript.end();
  }

  /** Ends what is left of it. */
  async end(): Promise<void> {
    for (const faults of this.#faults) faults.clear();
    this.#payers.end();
    for (const process of this.#processes) {
      void process.payments.close();
      process.isDead = true;
      process.timers.drop();
    }
    await this.rest();
    for (const process of this.#processes) process.connection.cut();
  }

  async #start(at: number): Promise<void> {
    const place = this.#stage.places[at];
    if (place === undefined) throw new Error(`there is no place ${at}`);
    const timers = this.#clock.createTimers();
    const connection = this.#shelf.connect();
    const isDead = () => self?.isDead ?? false;
    let self: Process | undefined;
    const scribe: Scribe = {
      transcript: this.#transcript,
      now: this.#clock.now,
      nameOf: (text) => this.#payers.nameOf(text),
      laneOf: (payment) => (isDead() ? undefined : `seller ${at}${payment === "" ? "" : `, ${payment}`}`),
    };
    const store = recorded(connection.store, scribe);
    place.onFirstByte = (request, status) => {
      const lane = scribe.laneOf(this.#payers.paymentOf(request));
      if (lane !== undefined) scribe.transcript.note("response", lane, `${request} begins: ${status}`);
    };
    const handler = createHandler({
      plan: this.#sequence.seller,
      orders: this.#payers.orders,
      runs: this.#runs,
      scribe,
      paymentOf: (request) => this.#payers.paymentOf(request),
    });
    const facilitators = this.#facilitators;
    const starting = startSeller({
      place,
      plan: this.#sequence.seller,
      scribe,
      facilitators,
      store,
      timers,
      handler,
    });
    await this.rest();
    const payments = await starting;
    self = { payments, connection, timers, isDead: false };
    this.#processes[at] = self;
  }

  /** Lets everything go on until nothing happens any more. */
  async rest(): Promise<void> {
    let [quiet, noted] = [0, -1];
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      await new Promise<void>((resolve) => void setImmediate(resolve));
      const isQuiet = this.#transcript.noted === noted && !this.#stage.network.isMoving;
      noted = this.#transcript.noted;
      quiet = isQuiet ? quiet + 1 : 0;
      if (quiet < QUIET_TURNS) continue;
      quiet = 0;
      if (!(await this.#shelf.serve()) && !this.#shelf.tell()) return;
    }
    throw new Error("the sequence never comes to rest");
  }

  async #playStep(step: Step): Promise<void> {
    if (step.kind === "send") return this.#playSend(step);
    if (step.kind === "pass") return this.#playPass(step);
    if (step.kind === "die") return this.#die(step.seller);
    this.#payers.ask(step.seller, step.path);
    await this.#untilAnswered();
  }

  async #playPass({ seconds, settle }: PassStep): Promise<void> {
    if (settle !== undefined) for (const faults of this.#faults) faults.always("settle", toFault(settle));
    await this.#pass(seconds * 1000);
    for (const faults of this.#faults) faults.clear();
    await this.rest();
  }

  async #pass(ms: number): Promise<void> {
    await this.#clock.pass(ms, () => this.rest());
    this.#payers.noteResponses();
  }

  async #die(seller: number): Promise<void> {
    const at = seller % this.#stage.places.length;
    const process = this.#processes[at];
    if (process === undefined || this.#stage.kind === "memory") return;
    process.isDead = true;
    process.connection.cut();
    process.timers.drop();
    this.#stage.places[at]?.cut();
    void process.payments.close();
    await this.rest();
    await this.#start(at);
    // Not awaited: it may ask a facilitator that is held.
    void this.#processes[at]?.payments.recover();
    await this.rest();
    this.#payers.noteResponses();
  }

  async #playSend(step: SendStep): Promise<void> {
    const [begin, letGo, running] = [createLatch(), createLatch(), createLatch()];
    const payment = await this.#takePayment(step);
    if (payment === undefined) return;
    const { moment } = step;
    const [first] = this.#faults;
    if (moment !== undefined && moment.when !== "being served") {
      const operation = moment.when === "being verified" ? "verify" : "settle";
      const when = moment.when === "settled, but not answered for" ? "after" : "before";
      for (const faults of this.#faults) faults.next(operation, { kind: "hold", when });
    }
    if (step.verify !== undefined) first?.next("verify", toFault(step.verify));
    if (step.settle !== undefined) first?.next("settle", toFault(step.settle));
    const order: Order = {
      handler: step.handler,
      amount: step.amount,
      client: step.client,
      begin: moment?.when === "being served" ? begin : undefined,
      letGo,
      onRun: running.open,
    };
    const sent = this.#payers.send(payment, step.change, order, step.seller);
    await this.rest();
    const copy: Order = { ...order, client: "reads all", begin: undefined, onRun: () => {} };
    for (let at = 0; at < step.copies; at++) {
      this.#payers.send(payment, step.copyChange, copy, step.copySeller);
      await this.rest();
    }
    await this.#act(step, sent);
    begin.open();
    for (const faults of this.#faults) faults.clear();
    await this.rest();
    if (this.#runs.some(({ isOver }) => !isOver)) await this.#pass(5_000);
    letGo.open();
    await this.#untilAnswered();
  }

  async #act({ moment, seller }: SendStep, { exchange }: Request): Promise<void> {
    switch (moment?.doing) {
      case "the client leaves":
        if (!exchange.isOver) exchange.leave();
        break;
      case "the client half-closes":
        if (!exchange.isOver) exchange.halfClose();
        break;
      case "the seller dies":
        return this.#die(seller);
      case "a minute passes":
        return this.#pass(60_000);
      case "six minutes pass":
        return this.#pass(360_000);
      default:
        return;
    }
    await this.rest();
  }

  /**
   * Requests that wait for something get the time that they wait for. How much passes does not depend on how many timers there are: those
   * of the test's own runner may be among them.
   */
  async #untilAnswered(): Promise<void> {
    await this.rest();
    const { now } = this.#clock;
    const untilMs = now() + MOST_WAIT_MS;
    while (this.#payers.areWaiting && now() < untilMs) {
      const next = Math.min(this.#clock.nextMs ?? untilMs, untilMs);
      await this.#pass(Math.max(next - now(), 1));
    }
    this.#payers.giveUp();
    await this.rest();
    this.#payers.noteResponses();
  }

  async #takePayment(step: SendStep): Promise<Payment | undefined> {
    const known = this.#payers.find(step.payment);
    if (known !== undefined) return known;
    const challenge = await this.#askForChallenge(step.seller);
    return challenge && this.#payers.sign(step, challenge, this.#clock.now());
  }

  /** A quote expires, so that each payment by a dynamic price needs a challenge of its own. */
  async #askForChallenge(seller: number): Promise<PaymentRequired | undefined> {
    if (this.#challenge !== undefined && this.#sequence.seller.pricing === "fixed") return this.#challenge;
    const { exchange } = this.#payers.ask(seller, "/goods");
    await this.#untilAnswered();
    const header = exchange.received?.headers["payment-required"];
    if (typeof header !== "string") return undefined;
    const challenge = JSON.parse(Buffer.from(header, "base64").toString()) as PaymentRequired;
    if (challenge.accepts.length === 0) return undefined;
    this.#challenge = challenge;
    return challenge;
  }

  /** What is left on record, in the ledger and on the chain. */
  async #noteEnd(): Promise<void> {
    const { base } = this.#shelf;
    this.#transcript.begin("at the end");
    const entries = (await base.ledger?.list({ limit: 1_000 })) ?? [];
    for (const { number, nonce } of this.#payers.payments) {
      const moved = this.#chain.transfers.get(nonce);
      const own = entries.filter(({ transaction }) => transaction === moved?.transaction);
      const written = own.map(({ amount, attempt, route }) => `${amount} of ${route} at attempt ${attempt}`).join(", ");
      this.#transcript.note(
        "state",
        `payment ${number}`,
        `moved ${moved?.amount ?? "nothing"}, ledger: ${written || "nothing"}`,
      );
    }
    const strange = entries.filter(
      ({ transaction }) => ![...this.#chain.transfers.values()].some((one) => one.transaction === transaction),
    );
    this.#transcript.note("state", "ledger", `${entries.length} entries, ${strange.length} of them for nothing`);
    for await (const { state, identity } of base.unfinished())
      this.#transcript.note("state", this.#payers.nameOf(identity), `is left ${state}`);
  }
}
