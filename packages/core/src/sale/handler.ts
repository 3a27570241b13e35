/**
 * The payment as its handler sees it (`req.payment`): what was paid, how much of it is charged, and when to stop.
 *
 * @see `docs/reference/payment-object.md`
 * @module
 */
import { AmountError, PaymentAbortedError, type PaymentAbortReason, StateError } from "../errors.js";
import type { Unmetered } from "../options.js";
import {
  type CountedAmount,
  createMeter,
  type Meter,
  type MeteredUnits,
  type MeterSum,
  parseSettlementAmount,
  type SettlementAmount,
} from "../price/settlement-amount.js";
import { authorizedBy, type Offer } from "../scheme/offer.js";

/** A payment, for its handler: `req.payment`. */
export interface Payment {
  /** @example "0x857b06519E91e3A54538791bDbb0E22373e36b66" */
  readonly payer: string;
  /** @example "exact" */
  readonly scheme: string;
  /** CAIP-2: `"eip155:8453"`. */
  readonly network: string;
  /** @example "0x036CbD53842c5426634e7929541eC2318f3dCF7e" */
  readonly asset: string;
  /** What is charged as things stand, in atomic units: `"10000"`. */
  readonly amount: string;
  /** The most that can be charged, in atomic units: what the payer authorized. */
  readonly maxAmount: string;
  /** Public path of the route with its mounts: `/users/:id`; `undefined` if the route is a regular expression. */
  readonly routeTemplate: string | undefined;
  /** Decoded path parameters: `{ id: "a b" }`. */
  readonly pathParams: Readonly<Record<string, string>>;
  /** Whether the money has moved before the handler ran: `amount` is paid, and nothing changes it. Not enumerable. */
  readonly isSettled: boolean;
  /**
   * Aborts when the client disconnects before its response is delivered, when the payment can no longer settle, or when a metered
   * response has used up the maximum. Its reason is a `PaymentAbortedError`. Not enumerable, so that a payment can be written as JSON.
   */
  readonly signal: AbortSignal;
  /**
   * Sets how much is charged by a scheme that allows less than was authorized (`upto`): `"10000"` in atomic units,
   * `"12.34%"` of the maximum, rounded down, or `"$0.0123"`, rounded half up, if the price is in dollars, too. `"0"` charges nothing. The
   * last call counts, until the response ends or streams. If an amount was refused and no good one is set afterwards, nothing is charged and the
   * client gets 500. Not enumerable.
   *
   * @throws AmountError when it is not an amount, or more than the maximum.
   * @throws StateError when the scheme charges all or nothing and this is not all, or the response has gone out.
   */
  settle(amount: string): void;
  /**
   * Adds to what is charged, in the forms of {@link Payment.settle}: `charge("$0.00002")` for each token, or
   * `charge({ tokens: 31, price: "$0.000002" })` for several. The sum is exact, and rounded half up once, at the end. After `settle` it
   * adds to that amount. A metered response ends when a charge is more than is left, so charge before you write. Not enumerable.
   *
   * @throws AmountError when it is not an amount: then nothing is charged, unless `settle` sets a good one, or the response is metered
   *   and streams. Also when it is more than is left of the maximum: then what was charged before stays, or nothing is charged if that
   *   is none.
   * @throws StateError when the scheme charges all or nothing, or the response has gone out.
   */
  charge(amount: string | MeteredUnits): void;
  /**
   * Asks whether a charge is covered, before costly work: by what is left of the maximum, and with `settle: "metered"` by what the payer
   * still has on chain, if `rpc` has a node that tells. A covered amount is set aside from later reservations until charges use it up.
   * `remaining` does not change. Not enumerable.
   *
   * @throws AmountError (as a rejection) when it is not an amount.
   */
  reserve(amount: string | MeteredUnits): Promise<boolean>;
  /** What can still be charged, in whole atomic units. Not enumerable. */
  readonly remaining: string;
}

/** Where a request is: its route, and its path parameters. */
export type PaidPlace = Pick<Payment, "routeTemplate" | "pathParams">;

/** Whether the payer can still pay so much in all, in atomic units. Never rejects. */
export type CanPay = (amount: bigint) => Promise<boolean>;

let amountOf: (payment: HandlersPayment) => string;

/** Shared by all payments: with a getter of its own, each would have a hidden class of its own in V8. */
const OWN_AMOUNT: PropertyDescriptor & ThisType<HandlersPayment> = {
  enumerable: true,
  get() {
    return amountOf(this);
  },
};

/** What the handler sees. Methods and signal come from the class, so that they are not enumerable. */
export class HandlersPayment implements Payment {
  static {
    amountOf = (payment) => payment.#amount.value.toString();
  }

  declare readonly payer: string;
  declare readonly scheme: string;
  declare readonly network: string;
  declare readonly asset: string;
  declare readonly amount: string;
  declare readonly maxAmount: string;
  declare readonly routeTemplate: string | undefined;
  declare readonly pathParams: Payment["pathParams"];
  readonly #amount: ChargedAmount;
  readonly #run: Pick<HandlerSignal, "signal">;

  constructor(
    { offer, payer, place }: { readonly offer: Offer; readonly payer: string; readonly place: PaidPlace },
    amount: ChargedAmount,
    run: Pick<HandlerSignal, "signal">,
  ) {
    const { scheme, network, asset, amount: maxAmount } = offer.requirements;
    this.payer = payer;
    this.scheme = scheme;
    this.network = network;
    this.asset = asset;
    Object.defineProperty(this, "amount", OWN_AMOUNT);
    this.maxAmount = maxAmount;
    this.routeTemplate = place.routeTemplate;
    this.pathParams = place.pathParams;
    this.#amount = amount;
    this.#run = run;
    Object.freeze(this);
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  // Getters, so that a handler can take a method off the payment: `const { charge } = req.payment`.
  get settle(): Payment["settle"] {
    return (amount) => this.#amount.settle(amount);
  }

  get charge(): Payment["charge"] {
    return (amount) => this.#amount.charge(amount);
  }

  get reserve(): Payment["reserve"] {
    return (amount) => this.#amount.reserve(amount);
  }

  get isSettled(): boolean {
    return this.#amount.isSettled;
  }

  get remaining(): string {
    return this.#amount.remaining.toString();
  }
}

/** How much of one payment is charged. */
export interface ChargedAmount {
  /** Atomic units, as things stand. */
  readonly value: bigint;
  /** Whole atomic units that can still be charged. */
  readonly remaining: bigint;
  /** See {@link Payment.isSettled}. */
  readonly isSettled: boolean;
  /** Whether the handler may charge less, and has not said a good amount yet. */
  readonly isAwaited: boolean;
  /** See {@link Payment.settle}. */
  settle(amount: string): void;
  /** See {@link Payment.charge}. */
  charge(amount: string | MeteredUnits): void;
  /** See {@link Payment.reserve}. */
  reserve(amount: string | MeteredUnits): Promise<boolean>;
  /** Ends changes. Returns what is charged. */
  close(): ClosedAmount;
}

/**
 * Atomic units. `missing`: the handler had to set an amount and did not. `refused`: it asked for one that cannot be charged, and
 * set no good one since. A handler may swallow the error, and what it meant to charge is never guessed.
 */
export type ClosedAmount = bigint | "missing" | RefusedAmount;

/** What the handler was told, for the log. */
export interface RefusedAmount {
  readonly refused: string;
}

/** What the amount of a metered response needs. */
export interface MeteredAmountDeps {
  /** Asked by `reserve`. */
  readonly canPay: CanPay;
  /** A charge was more than is left. */
  readonly onExceeded: () => void;
  /** The handler asked for what is no amount. */
  readonly onRefused: (refused: RefusedAmount) => void;
}

/**
 * The amount of a payment that has settled: a handler that runs once more for it cannot change it.
 *
 * @param onRefused - Called once, when the handler asks for another amount: the money has moved.
 */
export function createSettledAmount(
  offer: Offer,
  value: bigint,
  onRefused: (refused: RefusedAmount) => void,
): ChargedAmount {
  if (!offer.scheme.allowsLess) return new WholeAmount({ ...offer, amount: value }, onRefused);
  if (offer.settle === "before") return new PaidAmount(offer, value);
  // The handler runs again for an amount that an earlier run has counted.
  return {
    ...{ value, remaining: 0n, isSettled: true, isAwaited: false },
    settle() {},
    charge() {},
    reserve: () => Promise.resolve(false),
    close: () => value,
  };
}

/** An amount that was paid before the handler ran. The handler counts against it, and nothing that it counts changes it. */
class PaidAmount implements ChargedAmount {
  readonly value: bigint;
  readonly isSettled = true;
  readonly isAwaited = false;
  readonly #meter: Meter;

  constructor(offer: Offer, value: bigint) {
    this.value = value;
    this.#meter = createMeter(authorizedBy(offer, value));
  }

  get remaining(): bigint {
    return this.#meter.remaining;
  }

  settle(text: string): void {
    demand(this.#meter.say(text), text);
  }

  charge(amount: string | MeteredUnits): void {
    demand(this.#meter.add(amount), amount);
  }

  async reserve(amount: string | MeteredUnits): Promise<boolean> {
    return isCovered(this.#meter.reserve(amount), amount);
  }

  close(): bigint {
    return this.value;
  }
}

/** @throws AmountError when the meter has refused the amount. */
function demand(counted: CountedAmount, amount: unknown): void {
  if (!counted.ok) throw new AmountError(amount, counted.expected);
}

/** @throws AmountError when it is no amount. */
function isCovered(reserved: SettlementAmount, amount: unknown): boolean {
  if (!reserved.ok && reserved.isTooMuch !== true) throw new AmountError(amount, reserved.expected);
  return reserved.ok;
}

/** All or nothing: any other amount is refused, and then nothing is charged. */
export class WholeAmount implements ChargedAmount {
  readonly remaining = 0n;
  readonly isSettled: boolean;
  readonly isAwaited = false;
  readonly #offer: Offer;
  readonly #onRefused: ((refused: RefusedAmount) => void) | undefined;
  #isOpen = true;
  #refused: RefusedAmount | undefined;

  constructor(offer: Offer, onRefused?: (refused: RefusedAmount) => void) {
    this.#offer = offer;
    this.#onRefused = onRefused;
    this.isSettled = onRefused !== undefined;
  }

  get value(): bigint {
    return this.#isRefused ? 0n : this.#offer.amount;
  }

  /** A payment that has settled cannot be refused any more. */
  get #isRefused(): boolean {
    return this.#refused !== undefined && this.#onRefused === undefined;
  }

  settle(text: string): void {
    const all = parseSettlementAmount(text, authorizedBy(this.#offer));
    if (!this.#isOpen || !all.ok || all.amount !== this.#offer.amount) this.#refuse();
    this.#refused = undefined;
  }

  charge(_amount: string | MeteredUnits): void {
    this.#refuse();
  }

  async reserve(_amount: string | MeteredUnits): Promise<boolean> {
    throw allOrNothing(this.#offer.scheme);
  }

  close(): ClosedAmount {
    this.#isOpen = false;
    return (this.#onRefused === undefined && this.#refused) || this.#offer.amount;
  }

  #refuse(): never {
    if (!this.#isOpen) throw tooLate();
    const error = allOrNothing(this.#offer.scheme);
    if (this.#refused === undefined) {
      this.#refused = { refused: error.message };
      this.#onRefused?.(this.#refused);
    }
    throw error;
  }
}

/** As the handler counts it. */
export class MeteredAmount implements ChargedAmount {
  readonly isSettled = false;
  readonly #offer: Offer;
  readonly #unmetered: Unmetered;
  readonly #meter: Meter;
  readonly #deps: MeteredAmountDeps | undefined;
  #isOpen = true;
  /** What the handler meant is not known, until it sets a good amount. */
  #refused: RefusedAmount | undefined;
  /** It counts if nothing is charged at all: otherwise the handler has used up the maximum, and been told so. */
  #tooMuch: RefusedAmount | undefined;

  constructor(offer: Offer, unmetered: Unmetered, deps?: MeteredAmountDeps) {
    this.#offer = offer;
    this.#unmetered = unmetered;
    this.#meter = createMeter(authorizedBy(offer));
    this.#deps = deps;
  }

  /** What was counted, before rounding. */
  get sum(): MeterSum {
    return this.#meter.sum;
  }

  /** Whether anything was counted, perhaps zero. */
  get isCounted(): boolean {
    return this.#meter.amount !== undefined;
  }

  get value(): bigint {
    if (this.refusal !== undefined) return 0n;
    return this.#meter.amount ?? (this.#unmetered === "maximum" ? this.#offer.amount : 0n);
  }

  get remaining(): bigint {
    return this.#isOpen ? this.#meter.remaining : 0n;
  }

  get isAwaited(): boolean {
    return this.#isOpen && (this.#meter.amount === undefined || this.#refused !== undefined);
  }

  /** `undefined`: the amount can be charged, or nothing is counted. */
  get refusal(): RefusedAmount | undefined {
    return this.#refused ?? (this.#meter.amount === undefined ? this.#tooMuch : undefined);
  }

  settle(text: string): void {
    if (!this.#isOpen) throw tooLate();
    const counted = this.#meter.say(text);
    if (!counted.ok) throw this.#refuse(new AmountError(text, counted.expected));
    this.#refused = undefined;
  }

  charge(amount: string | MeteredUnits): void {
    if (!this.#isOpen) throw tooLate();
    const counted = this.#meter.add(amount);
    if (counted.ok) return;
    const error = new AmountError(amount, counted.expected);
    if (counted.isTooMuch !== true) throw this.#refuse(error);
    this.#tooMuch = { refused: error.message };
    this.#deps?.onExceeded();
    throw error;
  }

  #refuse(error: AmountError): AmountError {
    this.#refused = { refused: error.message };
    this.#deps?.onRefused(this.#refused);
    return error;
  }

  async reserve(amount: string | MeteredUnits): Promise<boolean> {
    const reserved = this.#meter.reserve(amount);
    if (!isCovered(reserved, amount) || !reserved.ok || !this.#isOpen) return false;
    return this.#deps === undefined || this.#deps.canPay(reserved.amount);
  }

  close(): ClosedAmount {
    this.#isOpen = false;
    if (this.refusal !== undefined) return this.refusal;
    return this.#meter.amount === undefined && this.#unmetered === "error" ? "missing" : this.value;
  }
}

function allOrNothing({ scheme }: Offer["scheme"]): StateError {
  return new StateError(`the scheme ${scheme} takes the whole amount: it cannot be changed`);
}

function tooLate(): StateError {
  return new StateError("the amount is settled already: set it before the response ends");
}

/** Tells a handler when to stop. */
export class HandlerSignal {
  #controller: AbortController | undefined;
  #reason: PaymentAbortedError | undefined;

  /** Made when the handler first asks: few do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Whether the client has disconnected. */
  get isDisconnected(): boolean {
    return this.#reason?.reason === "client_gone";
  }

  /** The first reason counts. */
  tell(reason: PaymentAbortReason): void {
    this.#reason ??= new PaymentAbortedError(reason);
    this.#controller?.abort(this.#reason);
  }
}
