/**
 * Markup that escapes everything that is put into it.
 *
 * @module
 */
import { escapeHtml } from "@farebox/core/adapter";

/** Trusted markup, as opposed to text that has to be escaped. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** A value in a template. Markup stays as it is, anything else is escaped; `undefined` writes nothing. */
export type Part = Html | string | number | undefined | readonly Part[];

/** Template tag for markup. Escapes values, both in elements and in quoted attributes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const [first = "", ...rest] = strings;
  return new Html(first + rest.map((markup, at) => write(parts[at]) + markup).join(""));
}

function write(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.toString();
  if (typeof part === "object") return part.map(write).join("");
  return escapeHtml(String(part));
}

/** JSON for people. Invisible characters are escaped: they could change how a text looks, or what a terminal does with it. */
export function visibleJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? "null").replace(INVISIBLE, (character) =>
    character === "\n" ? character : escapeUnits(character),
  );
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Whether a text has a control character, or another one that cannot be seen. */
export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) >= 0;
}

function escapeUnits(character: string): string {
  return Array.from({ length: character.length }, (_, at) => {
    return `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }).join("");
}
