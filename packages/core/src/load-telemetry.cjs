/**
 * Loads what measures at the first call. CommonJS, because its `require` waits for nothing, and bundlers see what it needs.
 *
 * @module
 */
exports.loadTelemetry = () => require("./telemetry/index.cjs");
