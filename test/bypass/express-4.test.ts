/**
 * Generated apps on Express 4.
 *
 * @module
 */
import { testGenerated } from "./generated.js";

testGenerated("Express 4");
