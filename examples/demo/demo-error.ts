/** An expected failure of the demo: it prints the message, and no stack. */
export class DemoError extends Error {
  override readonly name = "DemoError";
}

/** Checks a claim of the demo. */
export function insist(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new DemoError(`this claim is false: ${claim}`);
}
