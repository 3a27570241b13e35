/**
 * The output of the demo.
 *
 * @module
 */
const isTerminal = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;

/** Prints the heading of a section. */
export function heading(text: string): void {
  console.log(`\n${style("1", text)}`);
}

/** Prints one line. */
export function line(text: string): void {
  console.log(`  ${text}`);
}

/** Prints a value as JSON. */
export function value(json: unknown): void {
  for (const text of JSON.stringify(json, null, 2).split("\n")) console.log(`    ${style("36", text)}`);
}

/** Prints a claim that was checked. */
export function good(text: string): void {
  console.log(`  ${style("32", "✓")} ${text}`);
}

/** Prints why the demo fails, in one line. */
export function bad(text: string): void {
  console.error(`${style("31", "✗")} ${text}`);
}

/** Prints each step, and its duration when the next step begins. */
export function createProgress(): { step(text: string): void; done(): void } {
  let started = 0;
  const done = () => {
    if (started !== 0) process.stdout.write(` ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
    started = 0;
  };
  return {
    step(text) {
      done();
      started = performance.now();
      process.stdout.write(`  ${text} …`);
    },
    done,
  };
}

function style(code: string, text: string): string {
  return isTerminal ? `\u001b[${code}m${text}\u001b[0m` : text;
}
