/**
 * Writes `docs/background/search-quality.md` from what was measured.
 *
 * @module
 */

/** The results of one set of questions. */
export interface MeasuredSet {
  readonly name: string;
  readonly questions: number;
  readonly first: number;
  readonly amongThree: number;
  readonly withoutResult: number;
  readonly resultsPerQuestion: number;
}

/** What `search-quality.json` holds. */
export interface Measured {
  readonly services: number;
  /** Without an embedder. */
  readonly words: readonly MeasuredSet[];
  /** With `sentenceEmbedder()`. */
  readonly encoder: readonly MeasuredSet[];
}

export function writeDocument(measured: Measured): string {
  return JSON.stringify(measured);
}
