/**
 * Everything exported here is public API.
 *
 * @module
 */
export {};
