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
  readonly firstServices: number;
  /** With `sentenceEmbedder()`, among all services. */
  readonly encoder: readonly MeasuredSet[];
  /** Without an embedder, among all services. */
  readonly words: readonly MeasuredSet[];
  readonly encoderAmongFirst: readonly MeasuredSet[];
  readonly wordsAmongFirst: readonly MeasuredSet[];
}

/** Writes the document. */
export function writeDocument(measured: Measured): string {
  const { services, firstServices, encoder, words, encoderAmongFirst, wordsAmongFirst } = measured;
  return [
    "# Quality of the search",
    "",
    "One command searches the sample services of `test/catalog/quality` with every question and writes this page:",
    "",
    "```sh",
    "npx -y pnpm@10 measure:search",
    "```",
    "",
    "The services are listed in SQLite. The last column is the mean number of results. No search has a filter.",
    "",
    ...tableOf(`${services} services, with \`@farebox/catalog-embeddings\``, encoder),
    ...tableOf(`${services} services, by words`, words),
    ...tableOf(`${firstServices} services, with \`@farebox/catalog-embeddings\``, encoderAmongFirst),
    ...tableOf(`${firstServices} services, by words`, wordsAmongFirst),
    "## How to read it",
    "",
    "Weights, means, limits and the wording for the encoder were chosen with the seen questions. The unseen ones were measured, and",
    "nothing was chosen with them. Rules were compared by cross-validation: chosen with the questions about four fifths of the services,",
    "and counted with those about the others. There one wording for a text did better than two or three.",
    "One weight was looked at again after the unseen ones were measured, and set by the seen ones: that of shared words, without an encoder.",
    "",
    "Most questions were written for the first services: among all services some have a second good result, which counts as wrong.",
    "",
    "A question finds nothing when no entry is similar enough. So most gibberish and most sentences that no service fits are refused,",
    "and a few questions too. In a larger catalog more sentences are similar to some entry by chance: the encoder's limit grows with it,",
    "up to the size that was measured.",
    "",
    "Two questions more or less in a set of 30 are chance: the means of another sample of the same texts move as many.",
    "",
    "The encoder and the word vectors are English. A question in another language finds only what shares words or pieces of words with",
    "English. No encoder of several languages has its weights in a package of npm, and this one downloads nothing. For other",
    "languages pass an `embedder` of your own.",
    "",
  ].join("\n");
}

function tableOf(title: string, sets: readonly MeasuredSet[]): readonly string[] {
  return [
    `## ${title}`,
    "",
    "| questions | number | right first | among three | found nothing | results |",
    "|---|---|---|---|---|---|",
    ...sets.map(({ name, questions, first, amongThree, withoutResult, resultsPerQuestion }) => {
      const right = name.includes("nonsense") ? " | " : `${first} | ${amongThree}`;
      return `| ${name} | ${questions} | ${right} | ${withoutResult} | ${resultsPerQuestion} |`;
    }),
    "",
  ];
}
