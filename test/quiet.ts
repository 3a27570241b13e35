/**
 * What Farebox writes to stderr, and warnings of Node, belong to the test that caused them: vitest shows them if that test fails.
 *
 * @module
 */

const IS_SET = Symbol.for("farebox.test.quiet");

// Files share a process.
if (!(IS_SET in process)) {
  Reflect.set(process, IS_SET, true);
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = ((chunk: string | Uint8Array, ...rest: []) => {
    if (typeof chunk !== "string" || !chunk.startsWith("[farebox]")) return write(chunk, ...rest);
    console.warn(chunk.trimEnd());
    return true;
  }) as typeof process.stderr.write;
  process.removeAllListeners("warning");
  process.on("warning", (warning) => console.warn(`${warning.name}: ${warning.message}`));
}
