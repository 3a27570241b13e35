/**
 * Loads what measures at the first call. The built package has load-telemetry.cjs in its place (`packages/build.mjs`): that waits for
 * nothing either, and a bundler sees what it requires.
 *
 * @module
 */
import * as telemetry from "./telemetry/index.js";

export function loadTelemetry(): typeof telemetry {
  return telemetry;
}
