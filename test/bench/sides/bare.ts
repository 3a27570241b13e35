/**
 * Express alone. Where it stands for a side, it gives that side's bytes: the same handlers with the same headers besides,
 * and what a side answers in place of them as it was answered.
 *
 * @module
 */
import express, { type Express } from "express";
import type { Plan } from "../plan.js";
import type { Recorded } from "../recorded.js";
import { addGoods } from "./goods.js";

/** Creates the app. */
export function createBare({ answers = {} }: Plan): Express {
  const app = express();
  for (const [path, recorded] of Object.entries(answers)) {
    if (recorded.status === 200) addHeaders(app, path, recorded);
    else addAnswer(app, path, recorded);
  }
  return addGoods(app);
}

/** What Express and the handlers write by themselves. */
const WRITTEN_BY_HANDLERS = new Set(["x-powered-by", "content-type", "etag"]);

function addHeaders(app: Express, path: string, { headers }: Recorded): void {
  const added = Object.fromEntries(Object.entries(headers).filter(([name]) => !WRITTEN_BY_HANDLERS.has(name)));
  if (Object.keys(added).length === 0) return;
  app.use(path, (_req, res, next) => {
    res.set(added);
    next();
  });
}

function addAnswer(app: Express, path: string, { status, headers, body }: Recorded): void {
  // Where the side has none, it would be made of each body anew.
  if (headers["etag"] === undefined) app.set("etag", false);
  app.get(path, (_req, res) => void res.status(status).set(headers).send(body));
}
