/**
 * Everything exported here is public API: what a facilitator needs to list what sellers declare.
 *
 * @module
 */
export {};
