/**
 * What the demo prints.
 *
 * @module
 */
const isTerminal = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;

/** Starts a part of the story. */
export function heading(text: string): void {
  console.log(`\n${style("1", text)}`);
}

/** One line of the story. */
export function line(text: string): void {
  console.log(`  ${text}`);
}

/** A value, laid out. */
export function value(json: unknown): void {
  for (const text of JSON.stringify(json, null, 2).split("\n")) console.log(`    ${style("36", text)}`);
}

/** Something that was checked and is so. */
export function good(text: string): void {
  console.log(`  ${style("32", "✓")} ${text}`);
}

/** Why the demo ends here, in one line. */
export function bad(text: string): void {
  console.error(`${style("31", "✗")} ${text}`);
}

/** Says what is being waited for, and how long it took once the next step begins. */
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
