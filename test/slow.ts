/**
 * Test files that wait for processes to die, install what a stranger would, send floods, compute for long, or look at pages in a browser: `pnpm test:slow`. `pnpm test` leaves them out, unless
 * it is asked for some files by name.
 *
 * @module
 */
export const SLOW: readonly string[] = [
  "packages/stores/src/postgres/postgres-store.test.ts",
  "packages/stores/src/processes.test.ts",
  "packages/stores/src/unreachable.test.ts",
  "packages/testing/src/store/store-conformance.test.ts",
  "test/avm/any-bytes.test.ts",
  "test/catalog/catalog-in-a-browser.test.ts",
  "test/catalog/quality/encoder-quality.test.ts",
  "test/chaos/chaos.test.ts",
  "test/cli/dev.test.ts",
  "test/consumers/consumers.test.ts",
  "test/examples/demo.test.ts",
  "test/examples/examples.test.ts",
  "test/examples/webhooks.test.ts",
  "test/express/death.test.ts",
  "test/express/errors-after-end.test.ts",
  "test/express/floods.test.ts",
  "test/express/hostile-settlements.test.ts",
  "test/express/ledger-death.test.ts",
  "test/express/prices-in-types.test.ts",
  "test/faults/random/sequences.test.ts",
  "test/interop/bazaar.test.ts",
  "test/mcp/bridge.test.ts",
  "test/paywall/looks.test.ts",
  "test/paywall/page.test.ts",
  "test/security/redos.test.ts",
  "test/security/two-processes.test.ts",
  "test/source/regular-expressions.test.ts",
  "test/testing/contracts.test.ts",
];

/** The names of files that vitest was asked for: `vitest run --config test/vitest.config.ts packages/core`. */
export function askedFor(argv: readonly string[]): readonly string[] {
  const options = argv.slice(argv.indexOf("run") + 1);
  return options.filter((each, at) => !each.startsWith("-") && !/^(--config|-t)$/.test(options[at - 1] ?? ""));
}
