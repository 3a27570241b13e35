/**
 * A seller of 200 MB in a process of its own, so that no other code uses its memory.
 *
 * Usage: `fork` with the facilitator's URL and the payee; sends `{ port }`. Asked `"usage"` it answers what it has used;
 * asked `"stalled"` it answers `{ stalled: true }` as soon as the socket takes no more.
 *
 * @module
 */
import { Readable } from "node:stream";
import { paymentMiddleware } from "@farebox/express";
import express from "express";

const SIZE = 200 * 1024 * 1024;
const [, , facilitator, payTo] = process.argv;

let produced = 0;
let isStallAwaited = false;
let isStalled = () => false;
const block = Buffer.alloc(64 * 1024, "x");

const app = express();
const accepts = { price: "$0.01", network: "eip155:84532", payTo };
app.use(paymentMiddleware({ "GET /goods": { accepts } }, { facilitator }));
app.get("/free", (_req, res) => res.json({ free: true }));
app.get("/goods", (_req, res) => {
  const source = new Readable({
    read() {
      this.push(produced < SIZE ? block : null);
      produced += block.length;
    },
  });
  isStalled = () => res.writableNeedDrain;
  source.on("pause", tellStall);
  source.pipe(res);
});

function tellStall() {
  if (!isStallAwaited || !isStalled()) return;
  isStallAwaited = false;
  process.send({ stalled: true });
}

const server = app.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("message", (question) => {
  if (question === "usage") return process.send({ produced, peakKilobytes: process.resourceUsage().maxRSS });
  isStallAwaited = true;
  tellStall();
});
process.on("disconnect", () => process.exit());
