/**
 * Which test files `pnpm test` leaves out, unless it is asked for some files by name. Each runs once in CI.
 *
 * @module
 */

/**
 * Those that wait for processes to die, start many, install what a stranger would, send floods, build hundreds of apps, go through the discovery
 * document, or look at pages in a browser: `pnpm test:slow`. The script finds the names in this file, as those of the first list.
 */
export const SLOW: readonly string[] = [
  "packages/catalog-embeddings/src/index.test.ts",
  "packages/testing/src/store/store-conformance.test.ts",
  "test/brief/section-1.test.ts",
  "test/brief/section-2.test.ts",
  "test/brief/section-3.test.ts",
  "test/brief/section-4.test.ts",
  "test/brief/section-5.test.ts",
  "test/brief/section-6.test.ts",
  "test/brief/section-7.test.ts",
  "test/brief/section-8.test.ts",
  "test/brief/section-9.test.ts",
  "test/bypass/corpus.test.ts",
  "test/bypass/two-prices.test.ts",
  "test/catalog/catalog-in-a-browser.test.ts",
  "test/catalog/mount-roots.test.ts",
  "test/catalog/quality/encoder-quality.test.ts",
  "test/catalog/search-in-stores.test.ts",
  "test/chaos/chaos.test.ts",
  "test/cli/dev.test.ts",
  "test/cli/doctor/modules.test.ts",
  "test/cli/init.test.ts",
  "test/consumers/consumers.test.ts",
  "test/docs/blocks.test.ts",
  "test/examples/demo.test.ts",
  "test/examples/examples.test.ts",
  "test/examples/webhooks.test.ts",
  "test/express/death.test.ts",
  "test/express/errors-after-end.test.ts",
  "test/express/floods.test.ts",
  "test/express/hostile-settlements.test.ts",
  "test/express/ledger-death.test.ts",
  "test/express/prices-in-types.test.ts",
  "test/mcp/bridge.test.ts",
  "test/mcp/named-tools.test.ts",
  "test/paywall/page.test.ts",
  "test/security/two-processes.test.ts",
  "test/source/clocks.test.ts",
  "test/source/regular-expressions.test.ts",
  "test/wrapped/express-async-errors.test.ts",
  "test/wrapped/express-promise-router.test.ts",
  "test/wrapped/nothing.test.ts",
  "test/wrapped/open-telemetry.test.ts",
  "test/wrapped/sentry.test.ts",
  "test/wrapped/tables-of-requests.test.ts",
];

/** Those that draw cases and are slow: `pnpm test:long`. */
export const DRAWN: readonly string[] = [
  "test/bypass/express-4.test.ts",
  "test/bypass/express-5.test.ts",
  "test/bypass/garbage-keys.test.ts",
  "test/bypass/remembered-paths.test.ts",
  "test/faults/random/sequences.test.ts",
  "test/paywall/looks.test.ts",
  "test/security/redos.test.ts",
];

/** Where the tests of `pnpm test:stores` are, on real servers. */
export const STORES = "packages/stores/";

/** Where the tests on chains are, and with other clients and facilitators: `pnpm test:chains`. */
export const CHAINS: readonly string[] = ["avm", "evm", "facilitator", "interop", "svm", "testing"].map(
  (folder) => `test/${folder}/`,
);

/** Where the tests of `@farebox/compat` are: `pnpm test:compat`. */
export const COMPAT = "test/compat/";

/** The names of files that vitest was asked for: `vitest run --config test/vitest.config.ts packages/core`. */
export function askedFor(argv: readonly string[]): readonly string[] {
  const options = argv.slice(argv.indexOf("run") + 1);
  return options.filter((each, at) => !each.startsWith("-") && !/^(--config|-t)$/.test(options[at - 1] ?? ""));
}
