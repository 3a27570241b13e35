/**
 * What fast-check draws, it draws from the seed of this run, if a test says nothing else: `draws.ts`.
 *
 * @module
 */
import fc from "fast-check";
import { SEED } from "./draws.js";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });
