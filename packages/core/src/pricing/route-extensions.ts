/**
 * The extensions of one route that are asked while a request waits: about its challenge, and about its receipt.
 *
 * An extension has a deadline. One that throws, is late, or says what cannot be sent changes nothing but its own entry.
 *
 * @see `docs/guides/write-an-extension.md`
 * @module
 */
import type { SettledContext } from "../events/hooks.js";
import { describeThrown, type Logger } from "../events/logger.js";
import type { ChallengeContext, CompiledDeclaration } from "../extension.js";
import type { StartTimer } from "../options.js";
import type { ExtensionDeclaration, Extensions, SettlementResponse } from "../protocol/documents.js";
import { encodePaymentResponse } from "../protocol/headers.js";
import { copyJsonObject, isJsonObject, type JsonObject, parseJson } from "../protocol/json.js";
import { freeze } from "../route/priced-request.js";

/** What asking extensions needs. */
export interface RouteExtensionsDeps {
  readonly logger: Logger;
  readonly timer: StartTimer;
}

/** How long a client waits for what extensions say about its challenge. */
const CHALLENGE_MS = 5_000;

/** How long a payment that has settled waits to be recorded, for what extensions say about its receipt. */
export const RECEIPT_MS = 2_000;

/** Characters of a header with a receipt. A response that was paid for must not be refused by a proxy. */
const RECEIPT_BUDGET = 4096;

/** What an extension adds to a receipt stands so deep in it. */
const RECEIPT_DEPTH = 2;

/** A declaration stands so deep in the facilitator's request, which carries the client's copy. */
const DECLARATION_DEPTH = 4;

/** The extensions of one route that are asked while a request waits. Nothing here throws or rejects. */
export class RouteExtensions {
  readonly #route: string;
  readonly #deps: RouteExtensionsDeps;
  readonly #challenging: readonly Challenging[];
  readonly #noting: readonly Noting[];
  #isTooLarge = false;

  constructor(route: string, asked: Asked, deps: RouteExtensionsDeps) {
    this.#route = route;
    this.#challenging = asked.challenging;
    this.#noting = asked.noting;
    this.#deps = deps;
  }

  /** Whether a challenge has to wait. */
  get asksAboutChallenges(): boolean {
    return this.#challenging.length > 0;
  }

  /** Whether a payment that has settled has to wait before it is recorded. */
  get asksAboutReceipts(): boolean {
    return this.#noting.length > 0;
  }

  /**
   * The declarations for one challenge.
   *
   * @param declared - The declarations by themselves.
   */
  async declare(
    declared: Extensions | undefined,
    about: Omit<ChallengeContext, "declaration">,
  ): Promise<Extensions | undefined> {
    const said = await Promise.all(
      this.#challenging.map(async ({ key, challenge, read }) => {
        const plain = declared?.[key];
        const context = Object.freeze({ ...about, declaration: plain && (copyJsonObject(plain) as typeof plain) });
        const question = { key, about: "challenge", withinMs: CHALLENGE_MS, read } as const;
        const answer = await this.#ask(question, () => challenge(context));
        return [key, answer.ok ? answer.value : plain] as const;
      }),
    );
    const all = new Map<string, ExtensionDeclaration | undefined>([...Object.entries(declared ?? {}), ...said]);
    const kept = [...all].filter(([, declaration]) => declaration !== undefined);
    return kept.length === 0 ? undefined : (Object.fromEntries(kept) as Extensions);
  }

  /** Tells once that proxies refuse the header of a challenge. What a header may leave out it has left out by then. */
  tellTooLarge(characters: number): void {
    if (this.#isTooLarge) return;
    this.#isTooLarge = true;
    this.#deps.logger.warn("challenge_too_large", { route: this.#route, characters });
  }

  /** The receipt, with what extensions add to it. The first of them come first where there is not room for all. */
  async addToReceipt(receipt: SettlementResponse, context: () => SettledContext): Promise<SettlementResponse> {
    const said = await Promise.all(
      this.#noting.map(async ({ key, receipt: noteOn }) => {
        const question = { key, about: "receipt", withinMs: RECEIPT_MS, read: readNote } as const;
        const answer = await this.#ask(question, () => noteOn(context()));
        return [key, answer.ok ? answer.value : undefined] as const;
      }),
    );
    let notes: readonly (readonly [key: string, note: JsonObject])[] = [];
    let full = receipt;
    for (const [key, note] of said) {
      if (note === undefined) continue;
      const more = [...notes, [key, note] as const];
      const larger = { ...receipt, extensions: Object.freeze(Object.fromEntries(more)) };
      if (encodePaymentResponse(larger).length > RECEIPT_BUDGET) {
        const error = `the receipt would be longer than ${RECEIPT_BUDGET} characters`;
        this.#deps.logger.error("extension_failed", { route: this.#route, extension: key, about: "receipt", error });
        continue;
      }
      notes = more;
      full = larger;
    }
    return full;
  }

  /** Asks an extension. A failure is logged. */
  async #ask<T>({ key, about, withinMs, read }: Question<T>, ask: () => unknown): Promise<Answer<T>> {
    const { timer, logger } = this.#deps;
    const failed = (problem: { readonly error: string }): Answer<T> => {
      logger.error("extension_failed", { route: this.#route, extension: key, about, ...problem });
      return NO_ANSWER;
    };
    let stop = () => {};
    const late = new Promise<typeof LATE>((resolve) => {
      stop = timer(() => resolve(LATE), withinMs);
    });
    try {
      const said = await Promise.race([ask(), late]);
      if (said === LATE) return failed({ error: `it took longer than ${withinMs} milliseconds` });
      const answer = read(said);
      return answer.ok ? answer : failed({ error: "it returned what cannot be sent" });
    } catch (error) {
      return failed(describeThrown(error));
    } finally {
      stop();
    }
  }
}

/** The extensions of a route; `undefined`: none of them has to be asked. */
export function createRouteExtensions(
  route: string,
  compiled: ReadonlyMap<string, CompiledDeclaration>,
  deps: RouteExtensionsDeps,
): RouteExtensions | undefined {
  const challenging = [...compiled].flatMap(([key, one]) => {
    const { challenge } = one;
    const read = one.isFreeForm === true ? readAnyDeclaration : readDeclaration;
    return challenge === undefined ? [] : [{ key, challenge: challenge.bind(one), read }];
  });
  const noting = [...compiled].flatMap(([key, one]) => {
    const { receipt } = one;
    return receipt === undefined ? [] : [{ key, receipt: receipt.bind(one) }];
  });
  const isAsked = challenging.length + noting.length > 0;
  return isAsked ? new RouteExtensions(route, { challenging, noting }, deps) : undefined;
}

const LATE = Symbol("late");

/** Who is asked about what. */
interface Asked {
  readonly challenging: readonly Challenging[];
  readonly noting: readonly Noting[];
}

interface Challenging extends Required<Pick<CompiledDeclaration, "challenge">> {
  readonly key: string;
  readonly read: (said: unknown) => Answer<ExtensionDeclaration>;
}

interface Noting extends Required<Pick<CompiledDeclaration, "receipt">> {
  readonly key: string;
}

interface Question<T> {
  readonly key: string;
  readonly about: "challenge" | "receipt";
  readonly withinMs: number;
  /** Checks and copies what was said: the extension may change it afterwards. */
  readonly read: (said: unknown) => Answer<T>;
}

type Answer<T> = { readonly ok: true; readonly value: T | undefined } | { readonly ok: false };

const NO_ANSWER = Object.freeze({ ok: false });
const NOTHING = Object.freeze({ ok: true, value: undefined });

function readDeclaration(said: unknown): Answer<ExtensionDeclaration> {
  const answer = readAnyDeclaration(said);
  if (!answer.ok || answer.value === undefined) return answer;
  const { info, schema } = answer.value;
  return isJsonObject(info) && isJsonObject(schema) ? answer : NO_ANSWER;
}

function readAnyDeclaration(said: unknown): Answer<ExtensionDeclaration> {
  if (said === undefined) return NOTHING;
  const copy = copyOf(said, DECLARATION_DEPTH);
  return copy === undefined ? NO_ANSWER : { ok: true, value: copy as ExtensionDeclaration };
}

function readNote(said: unknown): Answer<JsonObject> {
  if (said === undefined) return NOTHING;
  const value = copyOf(said, RECEIPT_DEPTH);
  return value === undefined ? NO_ANSWER : { ok: true, value: freeze(value) };
}

/** A copy by way of JSON that every client can read: not nested too deeply, and without NUL. Throws for what has no JSON. */
function copyOf(value: unknown, above: number): JsonObject | undefined {
  const text: unknown = JSON.stringify(value);
  const parsed = typeof text === "string" ? parseJson(text, above) : undefined;
  return parsed?.ok === true && isJsonObject(parsed.value) ? parsed.value : undefined;
}
