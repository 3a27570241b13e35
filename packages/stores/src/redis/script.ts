/**
 * A script, and its name.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** A script, and the name under which Redis remembers it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** Names a script. */
export function script(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}
