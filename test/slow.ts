/**
 * Test files that wait for processes to die, install what a stranger would, or send floods: `pnpm test:slow`. `pnpm test` leaves them out, unless
 * it is asked for some files by name.
 *
 * @module
 */
export const SLOW: readonly string[] = [
  "packages/stores/src/processes.test.ts",
  "test/chaos/chaos.test.ts",
  "test/consumers/consumers.test.ts",
  "test/express/death.test.ts",
  "test/express/floods.test.ts",
  "test/express/ledger-death.test.ts",
  "test/express/unproven-settlements.test.ts",
  "test/faults/random/sequences.test.ts",
  "test/security/two-processes.test.ts",
];

/** The names of files that vitest was asked for: `vitest run --config test/vitest.config.ts packages/core`. */
export function askedFor(argv: readonly string[]): readonly string[] {
  const options = argv.slice(argv.indexOf("run") + 1);
  return options.filter((each, at) => !each.startsWith("-") && !/^(--config|-t)$/.test(options[at - 1] ?? ""));
}
