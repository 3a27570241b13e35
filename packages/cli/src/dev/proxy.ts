/**
 * A proxy in front of the seller's server: it passes everything on, and writes requests down.
 *
 * @module
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Journal } from "./journal.js";

/** Creates the proxy. */
export function createProxy(target: URL, journal: Journal): Server {
  const server = createServer((req, res) => pass(req, res, target, journal));
  server.on("upgrade", (req, socket, head) => {
    const upstream = connect(Number(portOf(target)), target.hostname, () => {
      const lines = [`${req.method} ${req.url} HTTP/1.1`];
      for (let at = 0; at < req.rawHeaders.length; at += 2)
        lines.push(`${req.rawHeaders[at]}: ${req.rawHeaders[at + 1]}`);
      upstream.write(`${lines.join("\r\n")}\r\n\r\n`);
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", () => socket.destroy());
    socket.on("error", () => upstream.destroy());
  });
  return server;
}

function portOf({ port, protocol }: URL): string {
  return port === "" ? (protocol === "https:" ? "443" : "80") : port;
}

function pass(req: IncomingMessage, res: ServerResponse, target: URL, journal: Journal): void {
  const { method = "GET", url = "/", headers } = req;
  const payment = headers["payment-signature"];
  const id = journal.begin(method, url, typeof payment === "string" ? payment : undefined);
  // The host stays: a seller names itself by it in its challenge.
  const sent = request(
    { host: target.hostname, port: portOf(target), method, path: url, headers, agent: false },
    (answer) => {
      const { statusCode = 502 } = answer;
      journal.end(id, statusCode, describe(statusCode, payment !== undefined));
      res.writeHead(statusCode, answer.statusMessage, answer.rawHeaders);
      answer.pipe(res);
      answer.on("error", () => res.destroy());
    },
  );
  sent.on("error", (error: NodeJS.ErrnoException) => {
    if (res.headersSent) {
      res.destroy();
      return;
    }
    journal.end(id, 502, error.code ?? error.message);
    res.writeHead(502, { "content-type": "text/plain; charset=utf-8" });
    res.end(`farebox dev: your server at ${target.host} does not respond (${error.code ?? "error"}). Is it up?\n`);
  });
  res.on("close", () => {
    if (!res.writableFinished) sent.destroy();
  });
  req.pipe(sent);
}

function describe(status: number, isPaid: boolean): string {
  if (status === 402) return isPaid ? "the payment was refused" : "";
  if (status === 503) return "not known yet; the client sends the same payment again";
  return "";
}
