/**
 * What clients echo: a payment repeats most of the challenge it answers, in the same words each time, and only its `payload`
 * is new. What was parsed once is not parsed again.
 *
 * A text that begins and ends like one that was parsed before, as far as the value of `payload` and from behind it, and is
 * JSON in between, is the same document with another payload. JSON has no second way to read it.
 *
 * @see `docs/background/performance.md`
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject, type ParsedJson, parseJson } from "../protocol/json.js";

/** A document but for its payload. */
interface Template {
  /** Up to the value. */
  readonly head: string;
  /** From behind it. */
  readonly tail: string;
  readonly others: JsonObject;
}

/** Longer documents, which no client needs, are not kept: strangers write them. */
const MAX_CHARACTERS = 4096;

/** How many templates are kept: of the places where they were used last. */
const MAX_PLACES = 256;

/** To learn takes longer than to parse, and is for nothing where no two documents are alike: one of so many is looked at. */
const LEARN_ONE_OF = 16;

/** Remembers what clients echo. */
export class Echoes {
  readonly #templates = new Map<object, Template>();
  #unlike = 0;

  /**
   * Does what `parseJson` does. What it yields is frozen but for the payload and the object itself, for it is shared.
   *
   * @param place - Where documents are likely to be alike, such as a route.
   */
  parse(text: string, place: object): ParsedJson {
    const known = this.#templates.get(place);
    const parsed = known && parseAlike(text, known);
    if (parsed !== undefined) return parsed;
    const whole = parseJson(text);
    this.#unlike++;
    if (whole.ok && text.length <= MAX_CHARACTERS && this.#unlike % LEARN_ONE_OF === 0)
      this.#learn(text, whole.value, place);
    return whole;
  }

  #learn(text: string, value: unknown, place: object): void {
    const template = findTemplate(text, value);
    if (template === undefined) return;
    this.#templates.delete(place);
    this.#templates.set(place, template);
    const [oldest] = this.#templates.keys();
    if (oldest !== undefined && this.#templates.size > MAX_PLACES) this.#templates.delete(oldest);
  }
}

/** `undefined`: it is to be parsed as a whole, be it only to say what is wrong with it. */
function parseAlike(text: string, { head, tail, others }: Template): ParsedJson | undefined {
  const end = text.length - tail.length;
  // Compared as pieces: `startsWith` takes ten times as long for texts as long as these.
  if (head.length > end || text.slice(0, head.length) !== head || text.slice(end) !== tail) return undefined;
  const payload = parseJson(text.slice(head.length, end), 1);
  return payload.ok ? { ok: true, value: { payload: payload.value, ...others } } : undefined;
}

const NAME = '"payload":';

/** Takes a document apart, if its payload is an object in the words of `JSON.stringify`, as nearly everybody writes it. */
function findTemplate(text: string, value: unknown): Template | undefined {
  if (!isJsonObject(value) || !isJsonObject(value["payload"])) return undefined;
  const { payload, ...others } = value;
  const written = JSON.stringify(payload);
  const at = text.indexOf(NAME + written);
  if (at === -1) return undefined;
  const start = at + NAME.length;
  const template = { head: text.slice(0, start), tail: text.slice(start + written.length), others: freezeDeep(others) };
  return isApart(template) ? template : undefined;
}

/** What was found may be another field of that name, further down, or one that does not count because it comes twice. */
function isApart({ head, tail, others }: Template): boolean {
  const probe = parseJson(`${head}0${tail}`);
  return probe.ok && isDeepStrictEqual(probe.value, { ...others, payload: 0 });
}

/** Documents are nested no deeper than `parseJson` allows. */
function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) freezeDeep(part);
  return Object.freeze(value);
}
