/**
 * Express alone. Where it stands for a side, it gives that side's bytes.
 *
 * @module
 */
import express, { type Express } from "express";
import type { Plan } from "../plan.js";
import { addGoods } from "./goods.js";

/** Creates the app. */
export function createBare({ answers = {} }: Plan): Express {
  const app = express();
  for (const [path, { status, headers, body }] of Object.entries(answers)) {
    const bytes = Buffer.from(body);
    app.get(path, (_req, res) => void res.status(status).set(headers).send(bytes));
  }
  return addGoods(app);
}
