/**
 * Tries cases for the comparison, one by one, in a process that can be ended when it hangs.
 *
 * @module
 */
import type { Version } from "./case.js";
import { CORPUS } from "./corpus.js";
import { SELLERS } from "./sellers.js";
import { openStage } from "./stage.js";

/** Which case to try, on what. */
export interface Trial {
  readonly name: string;
  readonly version: Version;
  readonly library: keyof typeof SELLERS;
}

const stage = await openStage();

process.on("message", async ({ name, version, library }: Trial) => {
  const subject = CORPUS.find((candidate) => candidate.name === name);
  if (subject === undefined) throw new Error(`no case is called ${name}`);
  process.send?.(await stage.run(subject, version, SELLERS[library]));
});

process.on("disconnect", async () => {
  await stage.close();
  process.exit();
});

process.send?.("ready");
