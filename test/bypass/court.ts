/**
 * What all generated apps of one version of Express share: the line, the payer's purse, and an ear for stray errors.
 *
 * @module
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ExpressModule } from "./build-app.js";
import type { Court } from "./judge.js";
import type { Dialect } from "./path.js";
import { createPurse } from "./purse.js";
import { openRawLine } from "./raw-line.js";

export interface OpenCourt extends Court {
  close(): Promise<void>;
}

/** Opens a court for a version of Express. */
export async function openCourt(name: Dialect, express: ExpressModule): Promise<OpenCourt> {
  const stray: unknown[] = [];
  const hear = (error: unknown) => void stray.push(error);
  process.on("uncaughtException", hear);
  process.on("unhandledRejection", hear);
  const line = await openRawLine();
  const purse = await createPurse(line);
  const site = layOutSite();
  return {
    name,
    express,
    line,
    purse,
    site,
    takeStray: () => stray.splice(0),
    close: async () => {
      process.off("uncaughtException", hear);
      process.off("unhandledRejection", hear);
      await line.close();
      rmSync(site, { recursive: true });
    },
  };
}

/** The files that requests ask for. */
function layOutSite(): string {
  const site = mkdtempSync(join(tmpdir(), "farebox-site-"));
  for (const file of ["secret.txt", "index.html", "doc.html", "deep/secret.txt", "deep/index.html"]) {
    mkdirSync(dirname(join(site, file)), { recursive: true });
    writeFileSync(join(site, file), file);
  }
  return site;
}
