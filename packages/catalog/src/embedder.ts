/**
 * The meaning of texts, by a model of the operator's choice. The model is guarded: a search goes on by words and text when the
 * model throws, hangs, or returns something else than vectors.
 *
 * @module
 */
import type { Logger } from "@farebox/core";
import type { Issues } from "@farebox/core/issues";
import { legible } from "@farebox/core/scheme";
import { quantize } from "./word-vectors.js";

/** Turns texts into vectors of their meaning, e.g. `sentenceEmbedder()` of `@farebox/catalog-embeddings`. */
export interface Embedder {
  /** Names the model and its version, 1 to 80 characters. The store keeps it: entries are embedded again under another name. */
  readonly name: string;
  /** Numbers in each vector, 1 to 4096. */
  readonly dimensions: number;
  /**
   * A query finds nothing when the similarity of its nearest entry is less: five parts the cosine of the meanings, one part that of the
   * words. 0 to 1, default 0. A function gets the number of entries: among more of them one is nearer by chance.
   */
  readonly minScore?: number | ((entries: number) => number);
  /** Returns one vector for each text, of any length. A vector of zeros says that the text is not understood. */
  embed(texts: readonly string[], purpose: "entry" | "query"): Promise<readonly ArrayLike<number>[]>;
  /** Called once, when the catalog is closed. */
  close?(): Promise<void>;
}

/** An embedder with limits. Its vectors are unit vectors in signed bytes. */
export interface Encoder {
  readonly name: string;
  /** The embedder's name and dimensions, by which the store keeps the vectors. */
  readonly id: string;
  readonly dimensions: number;
  /** 0 where the embedder's function fails. */
  minScore(entries: number): number;
  /** The vector of a query; `undefined` when it does not come in time. All zeros: not understood. */
  encodeQuery(text: string): Promise<Int8Array | undefined>;
  /** The vectors of entries; `undefined` when the embedder failed. */
  encodeEntries(texts: readonly string[]): Promise<readonly Int8Array[] | undefined>;
  close(): Promise<void>;
}

const QUERY_MS = 2_000;
const ENTRIES_MS = 60_000;
/** How long a search does not wait for an embedder that gave no vector in time. */
const PAUSE_MS = 10_000;
/** Queries at once. Further ones are searched by words and text. */
const MAX_WAITING = 32;
const MAX_REMEMBERED = 1_000;

/** Adds an issue for each mistake in the option. */
export function checkEmbedder(embedder: Embedder | false | undefined, issues: Issues): void {
  if (embedder === undefined || embedder === false) return;
  const path = "options.embedder";
  if (typeof embedder !== "object" || embedder === null) {
    issues.add(path, "an object with name, dimensions and embed", embedder);
    return;
  }
  const { name, dimensions, minScore = 0, embed, close } = embedder;
  if (typeof name !== "string" || !/^[\x21-\x7e][\x20-\x7e]{0,79}$/.test(name)) {
    issues.add(`${path}.name`, "1 to 80 printable characters", name);
  }
  issues.readNumber(`${path}.dimensions`, dimensions ?? Number.NaN, { least: 1, most: 4_096, usual: 1 });
  if (typeof minScore !== "function" && !(typeof minScore === "number" && minScore >= 0 && minScore <= 1)) {
    issues.add(`${path}.minScore`, "a number from 0 to 1, or a function", minScore);
  }
  if (typeof embed !== "function") issues.add(`${path}.embed`, "a function from texts to vectors", embed);
  if (close !== undefined && typeof close !== "function") issues.add(`${path}.close`, "a function", close);
}

/** Not written into `import()`: bundlers would look for it where it is not installed. */
const PACKAGE = "@farebox/catalog-embeddings";

/** The encoder of `@farebox/catalog-embeddings`; `undefined` where the package is not installed. */
export async function installedEmbedder(logger: Logger | undefined): Promise<Embedder | undefined> {
  try {
    const { sentenceEmbedder } = (await import([PACKAGE].join(""))) as { sentenceEmbedder(): Embedder };
    return sentenceEmbedder();
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    if (!isAbsent || !error.message.includes(PACKAGE)) warnOf(logger, PACKAGE, nameOf(error));
    return undefined;
  }
}

function warnOf(logger: Logger | undefined, embedder: string, error: string): void {
  try {
    logger?.warn("catalog_embedder_failed", { embedder, error });
  } catch {
    // The failure of a logger has no other place to be reported.
  }
}

/** Guards an embedder. */
export function createEncoder(embedder: Embedder, logger: Logger | undefined): Encoder {
  const { name, dimensions, minScore = 0 } = embedder;
  const remembered = new Map<string, Promise<Int8Array | undefined>>();
  let waiting = 0;
  let pausedUntilMs = 0;

  async function encode(texts: readonly string[], purpose: "entry" | "query", ms: number): Promise<Encoded> {
    try {
      const vectors = await withinTime(embedder.embed(texts, purpose), ms);
      if (vectors === LATE) pausedUntilMs = performance.now() + PAUSE_MS;
      const read = vectors === LATE ? "no vectors in time" : readVectors(vectors, texts.length, dimensions);
      return typeof read === "string" ? warn(read) : read;
    } catch (error) {
      return warn(nameOf(error));
    }
  }

  function warn(error: string): undefined {
    warnOf(logger, name, error);
    return undefined;
  }

  async function encodeOne(text: string): Promise<Int8Array | undefined> {
    waiting += 1;
    const [vector] = (await encode([text], "query", QUERY_MS)) ?? [];
    waiting -= 1;
    if (vector === undefined) remembered.delete(text);
    return vector;
  }

  return {
    name,
    id: `${name}:${dimensions}`,
    dimensions,
    minScore(entries) {
      try {
        const least = typeof minScore === "function" ? minScore(entries) : minScore;
        return Number.isFinite(least) ? least : 0;
      } catch (error) {
        warn(nameOf(error));
        return 0;
      }
    },
    async encodeQuery(text) {
      const known = remembered.get(text);
      if (known === undefined && (waiting >= MAX_WAITING || performance.now() < pausedUntilMs)) return undefined;
      const vector = known ?? encodeOne(text);
      // The newest is the last, and the oldest is forgotten first.
      remembered.delete(text);
      remembered.set(text, vector);
      for (const oldest of remembered.keys()) {
        if (remembered.size <= MAX_REMEMBERED) break;
        remembered.delete(oldest);
      }
      return vector;
    },
    encodeEntries: (texts) => encode(texts, "entry", ENTRIES_MS),
    close: async () => embedder.close?.(),
  };
}

type Encoded = readonly Int8Array[] | undefined;

const LATE = Symbol("late");

async function withinTime<T>(work: Promise<T>, ms: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads as many vectors of finite numbers as there are texts, or says what is wrong. */
function readVectors(vectors: unknown, count: number, dimensions: number): readonly Int8Array[] | string {
  if (!Array.isArray(vectors) || vectors.length !== count) return "another number of vectors than of texts";
  const read: Int8Array[] = [];
  for (const vector of vectors as readonly (ArrayLike<number> | undefined)[]) {
    if (vector?.length !== dimensions) return "a vector of another size";
    const numbers = Float32Array.from(vector);
    if (!numbers.every(Number.isFinite)) return "a number that is not finite";
    read.push(quantize(numbers));
  }
  return read;
}

/** Only the name: a message may quote a client, or hold a key. */
function nameOf(error: unknown): string {
  const name: unknown = error instanceof Error ? error.name : undefined;
  return typeof name === "string" ? legible(name) : "unknown";
}
