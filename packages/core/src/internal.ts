/**
 * All of core but its rooms, as one file, for Farebox's own packages and the rooms: a seller's process then loads core as one file. Use
 * the other entries; this one has no promise.
 *
 * @module
 */
// biome-ignore lint/performance/noReExportAll: everything is the point of this file
export * from "./adapter.js";
// biome-ignore lint/performance/noReExportAll: everything is the point of this file
export * from "./index.js";
// biome-ignore lint/performance/noReExportAll: everything is the point of this file
export * from "./issues.js";
export { checkArguments, createLedger } from "./ledger/ledger.js";
export { parsePayerNames } from "./ledger/parse-ledger.js";
// biome-ignore lint/performance/noReExportAll: everything is the point of this file
export * from "./protocol/index.js";
// biome-ignore lint/performance/noReExportAll: everything is the point of this file
export * from "./scheme/index.js";
export { nearestName } from "./typos.js";
