/**
 * The budget: what may still be spent, in a file that outlives the bridge.
 *
 * The file is a journal. Each line is one change of what was spent, such as `$0.001`, with its time and cause. To spend is to append
 * a line, to flush it to the disk, and then to read the file up to that line: if the sum is within the limit, the payment may be
 * sent, and the line stays for good. If it is not, another line such as `-$0.001` takes it back, and nothing is sent. Appended lines have one order for all processes. So of two bridges that spend at once the first stays
 * within the limit and the second does not, without a lock that a killed bridge could leave behind.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { closeSync, constants, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** Dollars as a whole number of 10⁻¹⁸, the decimals of the tokens that have most. */
export type Dollars = bigint;

/** The decimals of {@link Dollars}. */
const DECIMALS = 18;

/** Reads `0.10` or `$0.10`. @throws RangeError for anything else, and for zero */
export function parseDollars(text: string): Dollars {
  const [, whole, fraction = ""] = /^\$?(\d{1,12})(?:\.(\d{1,18}))?$/.exec(text.trim()) ?? [];
  const dollars = whole === undefined ? 0n : BigInt(whole + fraction.padEnd(DECIMALS, "0"));
  if (dollars === 0n) throw new RangeError("not a positive amount of dollars");
  return dollars;
}

/** Writes `$0.10` as `$0.1`, and never rounds. */
export function formatDollars(dollars: Dollars): string {
  const digits = (dollars < 0n ? -dollars : dollars).toString().padStart(DECIMALS + 1, "0");
  let end = digits.length;
  while (end > digits.length - DECIMALS && digits[end - 1] === "0") end -= 1;
  const fraction = digits.slice(-DECIMALS, end);
  return `${dollars < 0n ? "-" : ""}$${digits.slice(0, -DECIMALS)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** A budget file that cannot be used, or a payment that is more than what is left. */
export class BudgetError extends Error {
  override readonly name = "BudgetError";
}

const HEADER = "farebox budget 1";

/** The sum that was spent, and the limit. */
export class Budget {
  readonly file: string;
  readonly total: Dollars;

  private constructor(file: string, total: Dollars) {
    this.file = file;
    this.total = total;
  }

  /** Opens the file, and creates a missing one. @throws BudgetError when the file is damaged or cannot be written */
  static open(file: string, total: Dollars): Budget {
    return guard(file, () => {
      create(file);
      const budget = new Budget(file, total);
      // A line that changes nothing proves that the file can be written.
      budget.#append(0n, "a bridge started");
      return budget;
    });
  }

  /** @throws BudgetError when the file is damaged or gone */
  left(): Dollars {
    const left = this.total - guard(this.file, () => readSpent(this.file));
    return left < 0n ? 0n : left;
  }

  /** For people: what was spent, and what is left. */
  describe(): string {
    const left = this.left();
    return `Budget: ${formatDollars(left)} left of ${formatDollars(this.total)}.`;
  }

  /** Spends before a payment is sent. @throws BudgetError when it is more than what is left: nothing is spent */
  spend(amount: Dollars, what: string): void {
    const spent = guard(this.file, () => this.#append(amount, what));
    if (spent <= this.total) return;
    guard(this.file, () => this.#append(-amount, `too much: ${what}`));
    const left = spent - amount < this.total ? this.total - spent + amount : 0n;
    throw new BudgetError(`${formatDollars(amount)} is more than what is left of MAX_TOTAL: ${formatDollars(left)}`);
  }

  /** Appends a line, and returns what was spent up to it. */
  #append(change: Dollars, what: string): Dollars {
    const id = randomUUID();
    const line = JSON.stringify([new Date().toISOString(), formatDollars(change), what.slice(0, 300), id]);
    const handle = openSync(this.file, constants.O_WRONLY | constants.O_APPEND);
    try {
      const bytes = Buffer.from(`${line}\n`);
      if (writeSync(handle, bytes) !== bytes.length) throw new BudgetError("the disk is full");
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    return readSpent(this.file, id);
  }
}

/** A new file has its first line from the start, so that an empty one is a damaged one. */
function create(file: string): void {
  const draft = `${file}.${randomUUID()}`;
  const handle = openSync(draft, "wx", 0o600);
  try {
    writeSync(handle, `${HEADER}\n`);
    fsyncSync(handle);
    linkSync(draft, file);
    syncFolder(dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    closeSync(handle);
    unlinkSync(draft);
  }
}

/** Windows cannot flush a folder, and need not. */
function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Adds up the file, up to the line with an id. After it may be a line that another bridge is writing. */
function readSpent(file: string, last?: string): Dollars {
  const lines = readFileSync(file, "utf8").split("\n");
  if (lines[0] !== HEADER) throw new BudgetError("its first line is missing");
  const end = last === undefined ? lines.length - 1 : lines.findIndex((line) => line.includes(last)) + 1;
  if (end === 0) throw new BudgetError("a line that was written is missing");
  let spent = 0n;
  lines.slice(1, end).forEach((line, at) => {
    spent += readChange(line, at + 2);
    if (spent < 0n) throw new BudgetError(`line ${at + 2} gives back what was not spent`);
  });
  return spent;
}

function readChange(line: string, number: number): Dollars {
  const [, change] = parseLine(line);
  const [, sign, whole, fraction = ""] = /^(-?)\$(\d{1,30})(?:\.(\d{1,18}))?$/.exec(String(change)) ?? [];
  if (whole === undefined) throw new BudgetError(`line ${number} is damaged`);
  const dollars = BigInt(whole + fraction.padEnd(DECIMALS, "0"));
  return sign === "-" ? -dollars : dollars;
}

/** Two lines that became one are not JSON. */
function parseLine(line: string): readonly unknown[] {
  try {
    const fields: unknown = JSON.parse(line);
    return Array.isArray(fields) && fields.length === 4 ? fields : [];
  } catch {
    return [];
  }
}

/** Says which file, why, and what to do. */
function guard<T>(file: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const [reason] = (error as Error).message.split(", ");
    throw new BudgetError(`the budget file ${file} cannot be used: ${reason}. Nothing is spent until that is mended`);
  }
}
