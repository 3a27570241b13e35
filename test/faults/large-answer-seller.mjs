/**
 * A seller of 200 MB in a process of its own, so that its memory is nobody else's.
 *
 * Usage: `fork` with the facilitator's URL; sends its port, `"stalled"` when the socket takes no more, and what it has
 * used whenever it is asked.
 *
 * @module
 */
import { Readable } from "node:stream";
import { paymentMiddleware } from "@farebox/express";
import express from "express";

const SIZE = 200 * 1024 * 1024;
const [, , facilitator, payTo] = process.argv;

let produced = 0;
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
  // Before settlement it stalls too, when as much as is held has been written: nothing has gone to the socket then.
  source.on("pause", () => res.socket.bytesWritten > 0 && process.send("stalled"));
  source.pipe(res);
});

const server = app.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("message", () => process.send({ produced, peakKilobytes: process.resourceUsage().maxRSS }));
process.on("disconnect", () => process.exit());
