/**
 * What happened in a sequence, a line each. Within a step, lines are kept by process and record, each in its order: what two
 * processes do at once has none.
 *
 * @module
 */

/**
 * Kinds of lines. `state` is what a record became. `store` is every call of the store, with all that it was told: these may differ when
 * the way of a payment is rebuilt, and the others may not.
 */
export const LINE_KINDS = ["response", "facilitator", "hook", "event", "state", "store"] as const;
export type LineKind = (typeof LINE_KINDS)[number];

/** Random ids by their order of appearance. */
class Labels {
  readonly #numbers = new Map<string, number>();

  of(id: string): number {
    const known = this.#numbers.get(id);
    if (known !== undefined) return known;
    this.#numbers.set(id, this.#numbers.size + 1);
    return this.#numbers.size;
  }
}

export class Transcript {
  readonly #lines: string[] = [];
  #lanes = new Map<string, string[]>();
  readonly owners = new Labels();
  readonly runs = new Labels();
  readonly #tokens = new Labels();
  /** Grows with each line. */
  noted = 0;

  /** Begins a part of the transcript. */
  begin(title: string): void {
    this.#flush();
    this.#lines.push(`# ${title}`);
  }

  /** Notes a line in the lane of a process and a record, or of a request. */
  note(kind: LineKind, lane: string, text: string): void {
    this.noted++;
    const lines = this.#lanes.get(lane);
    const line = `${kind} ${text.includes("0x") ? this.written(text) : text}`;
    if (lines === undefined) this.#lanes.set(lane, [line]);
    else lines.push(line);
  }

  /** A text without what is random in it. Hashes, which are not, are cut. */
  written(text: string): string {
    return text
      .replaceAll(/(payment-retry-token: )([\w-]+)/g, (_, name, token) => `${name}${this.#tokens.of(String(token))}`)
      .replaceAll(
        /(\/\.well-known\/x402\/receipts\/)([\w.~-]+)/g,
        (_, path, token) => `${path}${this.#tokens.of(String(token))}`,
      )
      .replaceAll(/(0x[0-9a-fA-F]{10})[0-9a-fA-F]{30,}/g, "$1…");
  }

  #flush(): void {
    for (const lane of [...this.#lanes.keys()].sort()) {
      this.#lines.push(`[${lane}]`, ...(this.#lanes.get(lane) ?? []));
    }
    this.#lanes = new Map();
  }

  end(): string {
    this.#flush();
    return `${this.#lines.join("\n")}\n`;
  }
}

/** The kind of a line; `undefined`: it is a title, or names a lane. */
export function kindOf(line: string): LineKind | undefined {
  return LINE_KINDS.find((kind) => line.startsWith(`${kind} `));
}
