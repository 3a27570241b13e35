/**
 * A receiver of webhooks. It writes each sale into a file, once: a webhook may come more than once, and its id says so.
 *
 * @module
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import express from "express";
import { isSigned } from "./signature.js";

const {
  WEBHOOK_SECRET = "",
  SALES_FILE = "sales.jsonl",
  REFUSED_ROUTE = "",
  REFUSED_STATUS = "422",
  PORT = "4000",
} = process.env;
if (WEBHOOK_SECRET === "") throw new Error("WEBHOOK_SECRET is not set");

const known = new Set(
  existsSync(SALES_FILE)
    ? readFileSync(SALES_FILE, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line): string => JSON.parse(line).id)
    : [],
);

const app = express();
// The signature is of the bytes, so they are read as they came.
app.post("/", express.text({ type: "*/*", limit: "100kb" }), (req, res) => {
  if (typeof req.body !== "string" || !isSigned(WEBHOOK_SECRET, req.headers, req.body)) {
    res.status(401).end();
    return;
  }
  const { data } = JSON.parse(req.body);
  if (data.route === REFUSED_ROUTE) {
    res.status(Number(REFUSED_STATUS)).end();
    return;
  }
  if (!known.has(data.id)) {
    appendFileSync(SALES_FILE, `${JSON.stringify(data)}\n`, { flush: true });
    known.add(data.id);
    console.log(`received ${data.route} ${data.amount}`);
  }
  res.status(204).end();
});
app.listen(Number(PORT), "127.0.0.1", () => console.log("the receiver listens"));
