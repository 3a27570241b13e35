/**
 * The corpus: apps, tables and requests that a guess about paths gets wrong, and the required outcome of each.
 *
 * @module
 */
import type { Case, Version } from "./case.js";
import { FILE_CASES } from "./cases/files.js";
import { HANDLER_CASES } from "./cases/handlers.js";
import { KEY_CASES } from "./cases/keys.js";
import { METHOD_CASES } from "./cases/methods.js";
import { MOUNT_CASES } from "./cases/mounts.js";
import { OPAQUE_CASES } from "./cases/opaque.js";
import { PATH_CASES } from "./cases/paths.js";
import { PRICE_CASES } from "./cases/prices.js";

/** Every case, in the order of the comparison. */
export const CORPUS: readonly Case[] = [...METHOD_CASES, ...PATH_CASES, ...MOUNT_CASES, ...KEY_CASES, ...FILE_CASES];

/** With those that are not compared: layouts of an app, and forms of its functions. */
export const ALL_CASES: readonly Case[] = [...CORPUS, ...HANDLER_CASES, ...OPAQUE_CASES, ...PRICE_CASES];

/** The cases for a version of Express, those together that share an app and a table. */
export function casesByApp(
  version: Version,
  cases: readonly Case[],
): readonly (readonly [first: Case, ...others: Case[]])[] {
  const groups = new Map<string, [Case, ...Case[]]>();
  for (const subject of cases.filter(({ on }) => on.includes(version))) {
    const { app, keys, settings } = subject;
    const shared = JSON.stringify({ app, keys, settings });
    const known = groups.get(shared);
    if (known === undefined) groups.set(shared, [subject]);
    else known.push(subject);
  }
  return [...groups.values()];
}
