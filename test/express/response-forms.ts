/**
 * Every form of response that Node and Express offer.
 *
 * @module
 */
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { RequestHandler, Response } from "express";

export const FILE = fileURLToPath(new URL("../../LICENSE", import.meta.url));

export interface ResponseForm {
  readonly how: string;
  readonly handler: RequestHandler;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A handler that uses only its response. */
function respond(write: (res: Response) => unknown): RequestHandler {
  return (_req, res) => void write(res);
}

function setTrailer(res: Response): void {
  res.setHeader("Trailer", "X-Sum");
  res.addTrailers({ "X-Sum": "1" });
}

const NOTHING = () => {};

export const RESPONSE_FORMS: readonly ResponseForm[] = [
  { how: "json", handler: respond((res) => res.json({ a: 1 })) },
  { how: "send of text", handler: respond((res) => res.status(201).send("text ✓")) },
  { how: "send of bytes", handler: respond((res) => res.send(Buffer.from([0, 255, 128]))) },
  { how: "sendStatus", handler: respond((res) => res.sendStatus(202)) },
  { how: "204", handler: respond((res) => res.status(204).end()) },
  { how: "several cookies", handler: respond((res) => res.cookie("a", "1").cookie("b", "2").send("c")) },

  { how: "end of nothing", handler: respond((res) => res.end()) },
  { how: "end of null", handler: respond((res) => res.end(null)) },
  { how: "end of empty text", handler: respond((res) => res.end("")) },
  { how: "end of a callback", handler: respond((res) => res.end(NOTHING)) },
  { how: "end of text", handler: respond((res) => res.end("end ✓")) },
  { how: "end of text and callback", handler: respond((res) => res.end("end", NOTHING)) },
  { how: "end of latin1", handler: respond((res) => res.end("é", "latin1")) },
  { how: "end of base64 and callback", handler: respond((res) => res.end("AP+A", "base64", NOTHING)) },
  { how: "end of hex", handler: respond((res) => res.end("00ff80", "hex")) },
  { how: "end of utf16le", handler: respond((res) => res.end("ab", "utf16le")) },
  { how: "end of a Uint8Array", handler: respond((res) => res.end(new Uint8Array([1, 2, 3]))) },
  { how: "write and end", handler: respond((res) => [res.write("a"), res.end("b")]) },
  { how: "write and end of nothing", handler: respond((res) => [res.write("a"), res.end()]) },
  { how: "write of empty text", handler: respond((res) => [res.write(""), res.end("c")]) },
  {
    how: "writes in several encodings",
    handler: respond((res) => [res.write("é", "latin1"), res.write("fe", "hex", NOTHING), res.write("b"), res.end()]),
  },

  { how: "writeHead with a status", handler: respond((res) => res.writeHead(203).end("h")) },
  {
    how: "writeHead with an object",
    handler: respond((res) => res.writeHead(201, { "X-A": "1", "x-b": ["2", "3"], "X-C": 4 }).end("h")),
  },
  {
    how: "writeHead with a list",
    handler: respond((res) => res.writeHead(200, ["X-A", "1", "X-B", "2"]).end("h")),
  },
  { how: "writeHead with a message", handler: respond((res) => res.writeHead(200, "Fine").end("h")) },
  {
    how: "writeHead with a message and an object",
    handler: respond((res) => res.writeHead(200, "Fine", { "X-A": 1 }).end("h")),
  },
  {
    how: "writeHead with a message and a list",
    handler: respond((res) => res.writeHead(200, "Fine", ["X-A", "1"]).end("h")),
  },
  {
    how: "writeHead over a header set before",
    handler: respond((res) => res.set("X-A", "0").writeHead(200, { "x-a": "1" }).end("h")),
  },
  {
    how: "writeHead with a length",
    handler: respond((res) => res.writeHead(200, { "Content-Length": "3" }).end("abc")),
  },
  { how: "flushHeaders before a body", handler: respond((res) => [res.flushHeaders(), res.end("late")]) },

  { how: "a pipe of a file", handler: respond((res) => createReadStream(FILE).pipe(res)) },
  { how: "a pipe of an iterator", handler: respond((res) => Readable.from(["a", "b", "c"]).pipe(res)) },
  { how: "sendFile", handler: respond((res) => res.sendFile(FILE)) },
  { how: "sendFile of a range", handler: respond((res) => res.sendFile(FILE)), headers: { Range: "bytes=5-9" } },
  { how: "download", handler: respond((res) => res.download(FILE, "licence ✓.txt")) },

  { how: "HEAD of json", handler: respond((res) => res.json({ a: 1 })), method: "HEAD" },
  { how: "HEAD of a file", handler: respond((res) => res.sendFile(FILE)), method: "HEAD" },
  { how: "HEAD of writes", handler: respond((res) => [res.write("a"), res.end("b")]), method: "HEAD" },
  { how: "trailers after writes", handler: respond((res) => [setTrailer(res), res.write("a"), res.end()]) },
  { how: "trailers and one end", handler: respond((res) => [setTrailer(res), res.end("a")]) },
];
