/**
 * What clients echo: a payment repeats most of the challenge it answers, in the same words each time, and only its `payload`
 * is new. What was decoded and parsed once is not decoded and parsed again.
 *
 * A text that begins and ends like one that was parsed before, as far as the value of `payload` and from behind it, and is
 * JSON in between, is the same document with another payload. JSON has no second way to read it. Base64 writes three bytes as
 * four characters, so that the same holds for what it is written as, but for a byte or two at either end of the payload.
 *
 * @see `docs/performance.md`, "What clients echo"
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject, type ParsedJson, parseJson } from "../protocol/json.js";
import { decodeBase64 } from "./base64-json.js";

/** A document but for its payload. */
interface Template {
  /** Up to the payload. */
  readonly head: Part;
  /** From behind it. A payload may end at the first byte of three, at the second, or at the third. */
  readonly tails: readonly Part[];
  readonly others: JsonObject;
}

/** One side of a document: as much of it as is whole characters of base64, and the rest of it, next to the payload. */
interface Part {
  readonly base64: string;
  readonly rest: string;
}

/** Longer documents, which no client needs, are not kept: strangers write them. */
const MAX_CHARACTERS = 4096;

/** How many templates are kept: of the places where they were used last. */
const MAX_PLACES = 256;

/** To learn takes longer than to parse, and is for nothing where no two documents are alike: one of so many is looked at. */
const LEARN_ONE_OF = 16;

const MALFORMED: ParsedJson = Object.freeze({ ok: false });

/** Remembers what clients echo. */
export class Echoes {
  readonly #templates = new Map<object, Template>();
  #unlike = 0;

  /**
   * Does what `decodeBase64Json` does. What it yields is frozen but for the payload and the object itself, for it is shared.
   *
   * @param place - Where documents are likely to be alike, such as a route.
   */
  decode(text: string, place: object): ParsedJson {
    const known = this.#templates.get(place);
    return (known && decodeAlike(text, known)) ?? this.#decodeWhole(text, place);
  }

  #decodeWhole(text: string, place: object): ParsedJson {
    const json = decodeBase64(text);
    if (json === undefined) return MALFORMED;
    const whole = parseJson(json);
    this.#unlike++;
    const isLookedAt = json.length <= MAX_CHARACTERS && this.#unlike % LEARN_ONE_OF === 0;
    if (whole.ok && isLookedAt) this.#learn(json, whole.value, place);
    return whole;
  }

  #learn(json: string, value: unknown, place: object): void {
    const template = findTemplate(json, value);
    if (template === undefined) return;
    this.#templates.delete(place);
    this.#templates.set(place, template);
    const [oldest] = this.#templates.keys();
    if (oldest !== undefined && this.#templates.size > MAX_PLACES) this.#templates.delete(oldest);
  }
}

/** `undefined`: it is to be decoded as a whole, be it only to say what is wrong with it. */
function decodeAlike(text: string, { head, tails, others }: Template): ParsedJson | undefined {
  if (!begins(text, head.base64)) return undefined;
  for (const tail of tails) {
    const end = text.length - tail.base64.length;
    if (end < head.base64.length || !ends(text, tail.base64)) continue;
    const payload = decodePayload(text.slice(head.base64.length, end), head, tail);
    if (payload?.ok) return { ok: true, value: { payload: payload.value, ...others } };
  }
  return undefined;
}

/** Compared as a piece: `startsWith` takes ten times as long for texts as long as these. */
function begins(text: string, head: string): boolean {
  return text.slice(0, head.length) === head;
}

function ends(text: string, tail: string): boolean {
  return text.slice(text.length - tail.length) === tail;
}

/** @param text - The payload in base64, with the rest of either side */
function decodePayload(text: string, { rest: before }: Part, { base64, rest: behind }: Part): ParsedJson | undefined {
  // Padding is for the end of a document.
  if (base64 !== "" && (text.length % 4 !== 0 || text.endsWith("="))) return undefined;
  const json = decodeBase64(text);
  if (json === undefined || json.length < before.length + behind.length) return undefined;
  if (!json.startsWith(before) || !json.endsWith(behind)) return undefined;
  return parseJson(json.slice(before.length, json.length - behind.length), 1);
}

const NAME = '"payload":';

/** Takes a document apart, if its payload is an object in the words of `JSON.stringify`, as nearly everybody writes it. */
function findTemplate(json: string, value: unknown): Template | undefined {
  if (!isJsonObject(value) || !isJsonObject(value["payload"])) return undefined;
  const { payload, ...others } = value;
  const written = JSON.stringify(payload);
  const at = json.indexOf(NAME + written);
  if (at === -1) return undefined;
  const start = at + NAME.length;
  const [head, tail] = [json.slice(0, start), json.slice(start + written.length)];
  if (!isApart(head, tail, others)) return undefined;
  return { head: toHead(head), tails: [0, 1, 2].map((count) => toTail(tail, count)), others: freezeDeep(others) };
}

/** What was found may be another field of that name, further down, or one that does not count because it comes twice. */
function isApart(head: string, tail: string, others: JsonObject): boolean {
  const probe = parseJson(`${head}0${tail}`);
  return probe.ok && isDeepStrictEqual(probe.value, { ...others, payload: 0 });
}

/** What is next to a payload is a colon or a comma, a quote or a bracket, or the end: never a part of a character. */
function toHead(head: string): Part {
  const bytes = Buffer.from(head, "utf8");
  const whole = bytes.length - (bytes.length % 3);
  return { base64: bytes.toString("base64", 0, whole), rest: bytes.toString("utf8", whole) };
}

/** @param count - How many bytes of it are written together with the end of the payload */
function toTail(tail: string, count: number): Part {
  const bytes = Buffer.from(tail, "utf8");
  return { base64: bytes.toString("base64", count), rest: bytes.toString("utf8", 0, count) };
}

/** Documents are nested no deeper than `parseJson` allows. */
function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) freezeDeep(part);
  return Object.freeze(value);
}
