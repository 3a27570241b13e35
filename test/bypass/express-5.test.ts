/**
 * Generated apps on Express 5.
 *
 * @module
 */
import { testGenerated } from "./generated.js";

testGenerated("Express 5");
