/** Something went otherwise than it should; its message is all there is to say about it. */
export class DemoError extends Error {
  override readonly name = "DemoError";
}

/** Insists that something is as it should be. */
export function insist(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new DemoError(`not so: ${claim}`);
}
