/**
 * The extensions of one route that are asked while a request waits: about its challenge, and about its receipt.
 *
 * An extension has a deadline. One that throws, is late, or says what cannot be sent changes nothing but its own entry.
 *
 * @see `docs/guides/write-an-extension.md`
 * @module
 */
import { describeThrown, type Logger } from "../events/logger.js";
import type { ChallengeContext, CompiledDeclaration } from "../extension.js";
import type { StartTimer } from "../options.js";
import type { ExtensionDeclaration, Extensions } from "../protocol/documents.js";
import { copyJsonObject, isJsonObject, type JsonObject, parseJson } from "../protocol/json.js";

/** What asking extensions needs. */
export interface RouteExtensionsDeps {
  readonly logger: Logger;
  readonly timer: StartTimer;
}

/** How long a client waits for what extensions say about its challenge. */
const CHALLENGE_MS = 5_000;

/** A declaration stands so deep in the facilitator's request, which carries the client's copy. */
const DECLARATION_DEPTH = 4;

/** Node refuses headers of more than 16 KiB in all, and many proxies half of that. */
const MAX_HEADER = 8192;

/** The extensions of one route that are asked while a request waits. Nothing here throws or rejects. */
export class RouteExtensions {
  readonly #route: string;
  readonly #deps: RouteExtensionsDeps;
  readonly #challenging: readonly Challenging[];
  #isTooLarge = false;

  private constructor(route: string, challenging: readonly Challenging[], deps: RouteExtensionsDeps) {
    this.#route = route;
    this.#challenging = challenging;
    this.#deps = deps;
  }

  /** The extensions of a route; `undefined`: none of them has to be asked. */
  static of(
    route: string,
    compiled: ReadonlyMap<string, CompiledDeclaration>,
    deps: RouteExtensionsDeps,
  ): RouteExtensions | undefined {
    const challenging = [...compiled].flatMap(([key, one]) => {
      const { challenge } = one;
      return challenge === undefined ? [] : [{ key, challenge: challenge.bind(one) }];
    });
    return challenging.length === 0 ? undefined : new RouteExtensions(route, challenging, deps);
  }

  /** Whether a challenge has to wait. */
  get asksAboutChallenges(): boolean {
    return this.#challenging.length > 0;
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
      this.#challenging.map(async ({ key, challenge }) => {
        const plain = declared?.[key];
        const context = Object.freeze({ ...about, declaration: plain && (copyJsonObject(plain) as typeof plain) });
        const question = { key, about: "challenge", withinMs: CHALLENGE_MS, read: readDeclaration } as const;
        const answer = await this.#ask(question, () => challenge(context));
        return [key, answer.ok ? answer.value : plain] as const;
      }),
    );
    const all = new Map<string, ExtensionDeclaration | undefined>([...Object.entries(declared ?? {}), ...said]);
    const kept = [...all].filter(([, declaration]) => declaration !== undefined);
    return kept.length === 0 ? undefined : (Object.fromEntries(kept) as Extensions);
  }

  /** Tells once that proxies refuse the header of a challenge. What a header may leave out it has left out by then. */
  checkSize(characters: number): void {
    if (characters <= MAX_HEADER || this.#isTooLarge) return;
    this.#isTooLarge = true;
    this.#deps.logger.warn("challenge_too_large", { route: this.#route, characters });
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

const LATE = Symbol("late");

interface Challenging extends Required<Pick<CompiledDeclaration, "challenge">> {
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
  if (said === undefined) return NOTHING;
  const copy = copyOf(said, DECLARATION_DEPTH);
  const isComplete = copy !== undefined && isJsonObject(copy["info"]) && isJsonObject(copy["schema"]);
  return isComplete ? { ok: true, value: copy as ExtensionDeclaration } : NO_ANSWER;
}

/** A copy by way of JSON that every client can read: not nested too deeply, and without NUL. Throws for what has no JSON. */
function copyOf(value: unknown, above: number): JsonObject | undefined {
  const text: unknown = JSON.stringify(value);
  const parsed = typeof text === "string" ? parseJson(text, above) : undefined;
  return parsed?.ok === true && isJsonObject(parsed.value) ? parsed.value : undefined;
}
