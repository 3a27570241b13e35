/**
 * The whole package as one file, for Farebox's own packages. Use the other entry; this one has no promise.
 *
 * @module
 */
// biome-ignore lint/performance/noReExportAll: everything is the point of this file
export * from "./index.js";
export { HOST_UNKNOWN, ownUrl, readOrigin } from "./own-host.js";
export { admit, checkStorage, isPaidInFull, resourceOfGet, toBought, whyUnbound } from "./sign-in-access.js";
export { challengeFor, checkResourceOf } from "./sign-in-with-x.js";
