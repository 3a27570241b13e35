/**
 * A sentence encoder for the catalog's search: the Universal Sentence Encoder (lite) for English, with its weights.
 *
 * Everything exported here is public API.
 *
 * @module
 */
import { Worker } from "node:worker_threads";
import type { Embedder } from "@farebox/catalog";
import { StateError } from "@farebox/core";
import type { Done, Job } from "./worker.js";

const DIMENSIONS = 512;

// Measured with the seen questions of `test/catalog/quality`: more than half of the nonsense is refused. Among 72 services no question
// is refused whose service was right, among 321 three of 178 are.
const FEW = { entries: 72, minScore: 0.24 };
const MANY = { entries: 321, minScore: 0.3 };

/**
 * The limit grows with the logarithm of the number of entries, like the similarity of the nearest of them. Beyond the number that was
 * measured it stays.
 */
function minScore(entries: number): number {
  const part = Math.log(Math.max(1, entries) / FEW.entries) / Math.log(MANY.entries / FEW.entries);
  return Math.max(0, FEW.minScore + Math.min(1, part) * (MANY.minScore - FEW.minScore));
}

/** Calls that wait at once. A catalog has fewer. */
const MAX_WAITING = 64;

interface Waiting {
  resolve(vectors: readonly Float32Array[]): void;
  reject(error: Error): void;
}

/**
 * Starts the encoder in a thread of its own: some 10 ms and 100 MB of memory. Texts that are not English get a vector of zeros. The
 * thread keeps no process alive, is started again after it has ended, and ends with the catalog.
 */
export function sentenceEmbedder(): Embedder {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let isClosed = false;
  let worker: Worker | undefined = start();

  function start(): Worker {
    // The arguments of this process may be none for a thread, such as `--input-type`.
    const started = new Worker(new URL("./worker.js", import.meta.url), { execArgv: [] });
    const end = (cause: unknown): void => {
      if (worker !== started) return;
      worker = undefined;
      const error = new StateError("the thread of the encoder has ended", { cause });
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    };
    started.on("message", ({ id, numbers, error }: Done) => {
      const call = waiting.get(id);
      waiting.delete(id);
      // Whoever closes it waits for its end.
      if (waiting.size === 0 && !isClosed) started.unref();
      if (numbers === undefined) call?.reject(new StateError(`the encoder failed: ${error}`));
      else call?.resolve(rowsOf(numbers));
    });
    started.on("error", end);
    started.on("exit", end);
    started.unref();
    return started;
  }

  return {
    name: "universal-sentence-encoder-lite/4",
    dimensions: DIMENSIONS,
    minScore,
    embed(texts, purpose) {
      if (isClosed) return Promise.reject(new StateError("the encoder is closed"));
      if (waiting.size >= MAX_WAITING) return Promise.reject(new StateError("the encoder is busy"));
      worker ??= start();
      const job: Job = { id: ++last, texts: [...texts], purpose };
      return new Promise((resolve, reject) => {
        waiting.set(job.id, { resolve, reject });
        worker?.ref();
        worker?.postMessage(job);
      });
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

function rowsOf(numbers: Float32Array): readonly Float32Array[] {
  const rows: Float32Array[] = [];
  for (let from = 0; from < numbers.length; from += DIMENSIONS) rows.push(numbers.subarray(from, from + DIMENSIONS));
  return rows;
}
