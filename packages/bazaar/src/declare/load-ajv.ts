/**
 * Loads ajv at the first call. Built packages have load-ajv.cjs in its place (`packages/build.mjs`): a bundler sees what that requires.
 *
 * @module
 */
import { createRequire } from "node:module";

export function loadAjv(): typeof import("ajv/dist/2020.js") {
  return createRequire(import.meta.url)("ajv/dist/2020.js");
}
