/**
 * Warnings of the process, which a test expects: they are not printed.
 *
 * @module
 */
import { onTestFinished, vi } from "vitest";

/** Collects the codes of the product's warnings for the time of the test. Other warnings are printed as ever. */
export function collectWarnings(): readonly string[] {
  const codes: string[] = [];
  const { emitWarning } = process;
  const spy = vi.spyOn(process, "emitWarning").mockImplementation((...given: unknown[]) => {
    const options = given[1] as { readonly type?: string; readonly code?: string } | undefined;
    if (options?.type === "FareboxWarning") codes.push(String(options.code));
    else Reflect.apply(emitWarning, process, given);
  });
  onTestFinished(() => spy.mockRestore());
  return codes;
}
