/**
 * The corpus: apps, tables and requests that a guess about paths gets wrong, and the required outcome of each.
 *
 * @module
 */
import type { Case } from "./case.js";
import { FILE_CASES } from "./cases/files.js";
import { KEY_CASES } from "./cases/keys.js";
import { METHOD_CASES } from "./cases/methods.js";
import { MOUNT_CASES } from "./cases/mounts.js";
import { PATH_CASES } from "./cases/paths.js";

/** Every case, in the order of the comparison. */
export const CORPUS: readonly Case[] = [...METHOD_CASES, ...PATH_CASES, ...MOUNT_CASES, ...KEY_CASES, ...FILE_CASES];
