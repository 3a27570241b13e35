/**
 * The recorded transcripts: a compressed file for each kind.
 *
 * @module
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import type { Kind } from "./plan.js";

const FOLDER = new URL("recorded/", import.meta.url);

/** Separates transcripts, in a file of text. */
const SEPARATOR = "\n\f\n";

function fileOf(kind: Kind): URL {
  return new URL(`${kind}.txt.br`, FOLDER);
}

/** Transcripts by seed, from 1. */
export function readRecording(kind: Kind): readonly string[] {
  if (!existsSync(fileOf(kind))) return [];
  return brotliDecompressSync(readFileSync(fileOf(kind)))
    .toString()
    .split(SEPARATOR);
}

export function writeRecording(kind: Kind, transcripts: readonly string[]): void {
  const text = Buffer.from(transcripts.join(SEPARATOR));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    // The whole file: sequences resemble each other.
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  };
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(fileOf(kind), brotliCompressSync(text, { params }));
}
