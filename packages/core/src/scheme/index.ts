/**
 * What authors of schemes share. Everything exported here is public API. What a scheme fulfils, `Scheme` and
 * `FacilitatorScheme`, is in `@farebox/core`.
 *
 * @module
 */
export { type Fields, fieldsOf } from "./fields.js";
export { accept, type Reading, type Refusal, refuse } from "./reading.js";
