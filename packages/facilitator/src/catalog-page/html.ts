/**
 * HTML in which nothing that comes from elsewhere can be markup.
 *
 * @module
 */

/** Markup of our own, as opposed to text that has to be escaped. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** What can stand in a template: markup as it is, anything else as text, lists one after the other, `undefined` as nothing. */
type Part = Html | string | number | undefined | readonly Part[];

/** Writes markup. What is put in is escaped, in elements and in quoted attributes alike. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const [first = "", ...rest] = strings;
  return new Html(first + rest.map((markup, at) => write(parts[at]) + markup).join(""));
}

function write(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.toString();
  if (typeof part === "object") return part.map(write).join("");
  return escapeText(String(part));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
