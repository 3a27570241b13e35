/**
 * Streams that are read at once, each on a connection of its own, in a process of its own. It says by IPC when it is ready, begins
 * when it is told to, and sends the outcome.
 *
 * @module
 */
import { once } from "node:events";
import { connect } from "node:net";
import { Mint } from "./payments.js";

/** What is asked for. */
export interface Streams {
  readonly url: string;
  /** Whether each is paid for, and has to cost an atomic unit for each event. */
  readonly isPaid: boolean;
  readonly streams: number;
  /** Of each stream. */
  readonly events: number;
}

/** The outcome. */
export interface StreamsResult {
  /** Until the last byte of the last one. */
  readonly seconds: number;
}

process.on("disconnect", () => process.exit());

const { url, isPaid, streams, events }: Streams = JSON.parse(process.argv[2] ?? "");
const target = new URL(url);
const mint = isPaid ? await Mint.open(url) : undefined;
const payments = await Promise.all(Array.from({ length: streams }, () => mint?.sign()));
process.send?.("ready");
await once(process, "message");
const startedAt = performance.now();
await Promise.all(payments.map(read));
const measured: StreamsResult = { seconds: (performance.now() - startedAt) / 1000 };
process.send?.(measured);

/** Reads one stream to its end. */
async function read(payment: string | undefined): Promise<void> {
  const socket = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
  const paid = payment === undefined ? "" : `PAYMENT-SIGNATURE: ${payment}\r\n`;
  socket.write(
    `GET ${target.pathname}${target.search} HTTP/1.1\r\nHost: ${target.host}\r\n${paid}Connection: close\r\n\r\n`,
  );
  let end = "";
  let begin = "";
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    begin ||= chunk.toString("latin1", 0, 12);
    end = (end + chunk.toString("latin1", Math.max(0, chunk.length - 1000))).slice(-1000);
  }
  const isWhole =
    begin === "HTTP/1.1 200" && (!isPaid || end.includes(`"amount":"${events}"`)) && end.endsWith("\r\n\r\n");
  if (!isWhole) throw new Error(`${url}: not all of the stream came, but ${end}`);
}
