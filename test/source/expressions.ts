/**
 * Whether a regular expression takes time in proportion to its input. The checker counts steps: its own limits of time are off, because on a
 * busy machine it would take a match that is past one for a slow expression.
 *
 * @module
 */
import { check } from "recheck";
import { expect } from "vitest";
import { USUAL_SEED } from "../draws.js";

const COUNTED = { timeout: null, attackTimeout: null, incubationTimeout: null, seedingTimeout: null };

/** What {@link growthOf} says of an expression that no input makes slow. */
export const LINEAR = /^(constant|linear|safe)$/;

/** `linear`, `constant` or `safe` where no input makes the expression slow. */
export async function growthOf(source: string, flags: string, randomSeed: number = USUAL_SEED): Promise<string> {
  const diagnostics = await check(source, flags, { ...COUNTED, randomSeed });
  return diagnostics.status === "unknown" ? JSON.stringify(diagnostics.error) : diagnostics.complexity.type;
}

/** Fails where a hostile input makes the expression slow. */
export async function expectLinear(source: string, flags: string, randomSeed?: number): Promise<void> {
  expect(await growthOf(source, flags, randomSeed), `/${source}/${flags}`).toMatch(LINEAR);
}
