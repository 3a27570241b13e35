/**
 * A facilitator behind HTTP, in a process of its own, that answers after so many milliseconds. A number sent by IPC
 * changes them.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { settle, supported, verify } from "../sides/facilitator.js";

let latencyMs = Number(process.argv[2]);

const server = createServer((req, res) => void respond(req, res).catch(() => res.destroy()));
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("message", (ms) => {
  latencyMs = Number(ms);
});
process.on("disconnect", () => process.exit());

async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await readBody(req);
  const answer = JSON.stringify(answerTo(req.url, body));
  const send = () => {
    res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
    res.end(answer);
  };
  if (latencyMs === 0) send();
  else setTimeout(send, latencyMs);
}

function answerTo(path: string | undefined, body: string) {
  if (path === "/supported") return supported();
  const { paymentPayload, paymentRequirements } = JSON.parse(body);
  return path === "/verify" ? verify(paymentPayload) : settle(paymentPayload, paymentRequirements);
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
