/**
 * How a text is worded for the encoder. Entries and questions are texts of two kinds, and the encoder keeps kinds apart. So an entry is
 * also worded as a question, and a question as an entry, and the vectors of all wordings are added. Measured with the seen questions
 * of `test/catalog/quality`.
 *
 * @module
 */

/** The encoder's vectors of texts, one for each. */
export type Embed = (texts: string[]) => Promise<readonly (readonly number[])[]>;

/** How much a wording counts, and how a text becomes it. */
type Wording = readonly [weight: number, word: (text: string) => string];

/** An entry begins with its name and a colon. */
const WORDINGS: Readonly<Record<"entry" | "query", readonly Wording[]>> = {
  entry: [
    [1, (text) => text.replace(": ", " API: ")],
    [1, (text) => text.replace(": ", " API. ")],
    [1, (text) => `Question about ${text}`],
  ],
  query: [
    [1, (text) => text],
    [0.5, (text) => `API: ${text}`],
  ],
};

/** The encoder's time grows with the square of the length. */
const MAX_TEXT = 600;

/** Embeds texts as they are worded for their purpose. */
export async function embedWorded(
  texts: readonly string[],
  purpose: "entry" | "query",
  embed: Embed,
): Promise<readonly (readonly number[])[]> {
  const own = texts.map((text) => text.slice(0, MAX_TEXT).trim() || "-");
  const wordings = WORDINGS[purpose];
  const vectors = await embed(wordings.flatMap(([, word]) => own.map(word)));
  const weights = wordings.map(([weight]) => weight);
  return own.map((_, at) => sum(weights, (wording) => vectors[wording * own.length + at] ?? []));
}

function sum(weights: readonly number[], vectorOf: (wording: number) => readonly number[]): readonly number[] {
  return vectorOf(0).map((_, of) => weights.reduce((all, weight, at) => all + weight * (vectorOf(at)[of] ?? 0), 0));
}
