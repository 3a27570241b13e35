/**
 * Loads ajv at the first call. CommonJS, because its `require` waits for nothing, and bundlers see what it needs.
 *
 * @module
 */
exports.loadAjv = () => require("ajv/dist/2020.js");
