/**
 * The terminal: text that cannot act on it, colours where they are seen, progress where somebody waits.
 *
 * @module
 */

/** A colour or weight that a terminal knows. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const SGR: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** One of the process's streams, as far as it is used here. */
export interface OutputStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Where a terminal writes, and what decides about colours. */
export interface TerminalOptions {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Control characters, and those that change the direction of text or cannot be seen. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Text of strangers, as one line that cannot act on a terminal: `\u{1b}[2J` stands as these characters. */
export function printable(text: string, most = 400): string {
  const short = text.length > most ? `${text.slice(0, most)}…` : text;
  return short.replace(UNPRINTABLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** What a command prints to. */
export class Terminal {
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #hasColors: boolean;
  #hasProgress = false;

  constructor({ stdout, stderr, env }: TerminalOptions) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    const isWanted = (env["FORCE_COLOR"] ?? "") !== "" && env["FORCE_COLOR"] !== "0";
    const isRefused = (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
    this.#hasColors = !isRefused && (isWanted || stdout.isTTY === true);
  }

  /** Whether a person reads the results. */
  get isTerminal(): boolean {
    return this.#stdout.isTTY === true;
  }

  /** Prints a line of results. */
  print(line = ""): void {
    this.#clear();
    this.#stdout.write(`${line}\n`);
  }

  /** Prints text as it is. */
  write(text: string): void {
    this.#clear();
    this.#stdout.write(text);
  }

  /** Prints a value as JSON on one line. Bigints become digits. */
  printJson(value: unknown): void {
    this.print(JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each)));
  }

  /** Prints a line that is no result. */
  warn(line: string): void {
    this.#clear();
    this.#stderr.write(`${line}\n`);
  }

  /** Says what is waited for, on a terminal only. The next line replaces it. */
  progress(text: string): void {
    if (this.#stderr.isTTY !== true) return;
    this.#clear();
    this.#stderr.write(this.#hasColors ? paint("dim", text) : text);
    this.#hasProgress = true;
  }

  /** Text in a style, where the terminal shows it. */
  style(style: Style, text: string): string {
    return this.#hasColors ? paint(style, text) : text;
  }

  /** Removes the line of progress. */
  #clear(): void {
    if (!this.#hasProgress) return;
    this.#hasProgress = false;
    this.#stderr.write("\r\u001b[2K");
  }
}

function paint(style: Style, text: string): string {
  const [on, off] = SGR[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}
