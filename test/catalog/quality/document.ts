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

/** Writes the document. */
export function writeDocument({ services, words, encoder }: Measured): string {
  return [
    "# Quality of the search",
    "",
    "One command searches the sample services of `test/catalog/quality` with every question and writes this page:",
    "",
    "```sh",
    "npx -y pnpm@10 measure:search",
    "```",
    "",
    `${services} services are listed, in SQLite. The last column is the mean number of results. No search has a filter.`,
    "",
    ...tableOf("With `@farebox/catalog-embeddings`", encoder),
    ...tableOf("By words, the default", words),
    "## How to read it",
    "",
    "Own questions avoid the words of the sellers. Weights, means and least scores were chosen with the first half. The second half",
    'was only reported on. Unseen questions are in a buyer\'s own words, such as "do I need an umbrella in Lisbon today". They were',
    "written before the encoder was built in, and nothing was chosen with them.",
    "",
    "The least score is the highest that loses no right service of the first half. Gibberish finds nothing. A sentence of real words",
    "that no service fits still finds a few, with low scores. An entry with less than half of the best score is left out.",
    "",
    "The encoder and the word vectors are English. A German or Spanish question finds only what shares words with English, and a",
    "Chinese one finds nothing. For other languages pass an `embedder` of your own.",
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
      const isRight = !name.startsWith("nonsense");
      const right = isRight ? `${first} | ${amongThree}` : " | ";
      return `| ${name} | ${questions} | ${right} | ${withoutResult} | ${resultsPerQuestion} |`;
    }),
    "",
  ];
}
