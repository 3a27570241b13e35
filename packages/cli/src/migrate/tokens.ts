/**
 * Reads JavaScript and TypeScript as tokens: enough to find imports and calls, and to never mistake a comment, a string or a template
 * for code. It does not need to parse: text that it misreads, such as an apostrophe in JSX, ends at its line.
 *
 * @module
 */

/** A word, sign or literal of a source. Comments and white space are no tokens. */
export interface Token {
  readonly kind: "name" | "number" | "string" | "template" | "regex" | "sign";
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The place where a source cannot be read. */
export interface Unreadable {
  readonly at: number;
  readonly message: string;
}

const NAME = /[\p{ID_Start}$_#@\\][\p{ID_Continue}$\\]*/uy;
const NUMBER = /\.?\d[\w.]*/y;
const SPACE = /\s+/y;
/** After these words a slash begins a regular expression. After other words and closing brackets it divides. */
const BEFORE_A_VALUE = new Set(
  "return typeof case in of delete void throw new do else instanceof await yield default extends".split(" "),
);

/** Reads a source. A comment or a template that does not end makes it unreadable. */
export function readTokens(source: string): readonly Token[] | Unreadable {
  return new Reader(source).read();
}

class Reader {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  /** For each open brace, whether it belongs to a template: `${`. */
  readonly #braces: boolean[] = [];
  #at = 0;
  #unreadable: Unreadable | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  read(): readonly Token[] | Unreadable {
    if (this.#source.startsWith("#!")) this.#skipLine();
    while (this.#at < this.#source.length && this.#unreadable === undefined) this.#readOne();
    const open = this.#braces.includes(true) ? this.#fail(this.#at, "a template literal does not end") : undefined;
    return this.#unreadable ?? open ?? this.#tokens;
  }

  #readOne(): void {
    const first = this.#source[this.#at] as string;
    const second = this.#source[this.#at + 1];
    if (this.#match(SPACE) !== undefined) return;
    if (first === "/" && second === "/") this.#skipLine();
    else if (first === "/" && second === "*") this.#skipComment();
    else if (first === '"' || first === "'") this.#readString(first);
    else if (first === "`") this.#readTemplate(this.#at + 1);
    else if (first === "/" && this.#expectsValue()) this.#readRegex();
    else if (first === "}" && this.#braces.pop() === true) this.#readTemplate(this.#at + 1);
    else {
      if (first === "{") this.#braces.push(false);
      this.#readWord();
    }
  }

  #readWord(): void {
    const start = this.#at;
    if (this.#match(NAME) !== undefined) this.#push("name", start);
    else if (this.#match(NUMBER) !== undefined) this.#push("number", start);
    else {
      this.#at += this.#source.startsWith("=>", start) ? 2 : 1;
      this.#push("sign", start);
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #push(kind: Token["kind"], start: number): void {
    this.#tokens.push({ kind, text: this.#source.slice(start, this.#at), start, end: this.#at });
  }

  #skipLine(): void {
    const end = this.#source.indexOf("\n", this.#at);
    this.#at = end === -1 ? this.#source.length : end;
  }

  #skipComment(): void {
    const end = this.#source.indexOf("*/", this.#at + 2);
    if (end === -1) this.#fail(this.#at, "a comment does not end");
    this.#at = end + 2;
  }

  #readString(quote: string): void {
    const start = this.#at;
    const end = this.#endOfLiteral(start + 1, quote, "\n");
    // No string: an apostrophe in JSX or in a regular expression.
    if (this.#source[end] !== quote) this.#readWord();
    else {
      this.#at = end + 1;
      this.#push("string", start);
    }
  }

  /** The index of `ending` or `limit` that no backslash stands before. */
  #endOfLiteral(from: number, ending: string, limit: string): number {
    let at = from;
    for (; at < this.#source.length; at++) {
      const each = this.#source[at];
      if (each === "\\") at++;
      else if (each === ending || each === limit) break;
    }
    return at;
  }

  /** From after the back quote, or the brace that ends a substitution, to the end or the next substitution. */
  #readTemplate(from: number): void {
    const start = this.#at;
    for (let at = from; at < this.#source.length; at++) {
      const each = this.#source[at];
      if (each === "\\") at++;
      else if (each === "`" || (each === "$" && this.#source[at + 1] === "{")) {
        this.#at = at + (each === "`" ? 1 : 2);
        if (each === "$") this.#braces.push(true);
        this.#push("template", start);
        return;
      }
    }
    this.#fail(start, "a template literal does not end");
  }

  #expectsValue(): boolean {
    const before = this.#tokens.at(-1);
    if (before === undefined) return true;
    if (before.kind === "name") return BEFORE_A_VALUE.has(before.text);
    if (before.kind === "template") return before.text.endsWith("${");
    return before.kind === "sign" && !/[)\]}]/.test(before.text);
  }

  #readRegex(): void {
    const start = this.#at;
    let isClass = false;
    for (let at = start + 1; at < this.#source.length && this.#source[at] !== "\n"; at++) {
      const each = this.#source[at];
      if (each === "\\") at++;
      else if (each === "[") isClass = true;
      else if (each === "]") isClass = false;
      else if (each === "/" && !isClass) {
        this.#at = at + 1;
        this.#match(NAME);
        this.#push("regex", start);
        return;
      }
    }
    this.#readWord();
  }

  #fail(at: number, message: string): Unreadable {
    this.#unreadable ??= { at, message };
    return this.#unreadable;
  }
}

/** The text of a string, or of a template without substitutions. `undefined` for other tokens and for text with escapes. */
export function textOf(token: Token | undefined): string | undefined {
  if (token?.kind !== "string" && token?.kind !== "template") return undefined;
  const isWhole = token.text.length > 1 && token.text.at(-1) === token.text[0];
  const value = token.text.slice(1, -1);
  return isWhole && !value.includes("\\") ? value : undefined;
}
