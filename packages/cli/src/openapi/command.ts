/**
 * `farebox openapi`: prints the OpenAPI document of a running server, or of a seller's module.
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import { request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import express from "express";
import { CliError, wrongCall } from "../frame/cli-error.js";
import type { Clock } from "../frame/clock.js";
import { type Command, defineCommand } from "../frame/command.js";
import { fetchText } from "../http/fetch-text.js";
import { isFile, loadSeller } from "../seller-module/load.js";

const MAX_BYTES = 16 * 1024 * 1024;

export const command: Command = defineCommand({
  name: "openapi",
  summary: "Prints the OpenAPI document of a server, or of the file that makes its app",
  usage: "[options] <url or file>",
  options: {
    title: { type: "string", value: "title", default: "API", description: "For a file: the name of the API" },
    "api-version": {
      type: "string",
      value: "version",
      default: "1.0.0",
      description: "For a file: the version of the API",
    },
    "public-url": {
      type: "string",
      value: "url",
      default: "http://localhost:3000",
      description: "For a file: where the app will be, unless its publicUrl says so",
    },
    out: { type: "string", value: "file", description: "Writes the document to a file" },
  },
  details: `A URL without a path is asked for /openapi.json. A file exports the Express app as app, and the result of createPayments() as payments.

  farebox openapi https://api.example.com
  farebox openapi server.mjs --title Weather --out openapi.json`,
  async run({ options, args, terminal, clock }) {
    const [target] = args;
    if (target === undefined || args.length > 1) {
      throw wrongCall("name one URL or one file", "Write farebox openapi server.mjs");
    }
    const document = isFile(target)
      ? await describeFile(target, { ...options, version: options["api-version"], publicUrl: options["public-url"] })
      : await fetchDocument(target, clock);
    const json = `${JSON.stringify(document, null, 2)}\n`;
    if (options.out === undefined) terminal.write(json);
    else write(options.out, json);
    return 0;
  },
});

function write(file: string, json: string): void {
  try {
    writeFileSync(file, json);
  } catch (cause) {
    const message = `${file} cannot be written: ${(cause as Error).message}`;
    throw new CliError("FAREBOX_CLI_WRITE", message, "Name a file in a folder that exists", { cause });
  }
}

async function fetchDocument(target: string, clock: Clock): Promise<object> {
  if (!URL.canParse(target))
    throw wrongCall(`this is no URL: ${JSON.stringify(target)}`, "Write https://api.example.com");
  const url = new URL(target);
  if (url.pathname === "/") url.pathname = "/openapi.json";
  const { status, body } = await fetchText(url, { maxBytes: MAX_BYTES, clock });
  const document = status === 200 ? parse(body) : undefined;
  if (document !== undefined) return document;
  const seen = status === 200 ? "something else" : `status ${status}`;
  throw new CliError(
    "FAREBOX_CLI_OPENAPI",
    `${url.href} responded with ${seen}, and not with an OpenAPI document`,
    'Serve it: app.get("/openapi.json", payments.openapi({ title: "…" }))',
  );
}

function parse(body: string): object | undefined {
  try {
    const document: unknown = JSON.parse(body);
    const { openapi } = Object(document) as { readonly openapi?: unknown };
    return typeof openapi === "string" ? (document as object) : undefined;
  } catch {
    return undefined;
  }
}

interface Description {
  readonly title: string;
  readonly version: string;
  readonly publicUrl: string;
}

/** Asks the handler of the seller's payments, as if it stood in the seller's app at its public URL. */
async function describeFile(file: string, { title, version, publicUrl }: Description): Promise<object> {
  if (!/^https?:\/\/[^/?#@]+\/?$/i.test(publicUrl)) {
    throw wrongCall(
      `--public-url is an origin, not ${JSON.stringify(publicUrl)}`,
      "Write --public-url https://api.example.com",
    );
  }
  const { protocol, host } = new URL(publicUrl);
  const { app, payments } = await loadSeller(file);
  const handler = payments.openapi({ title, version });
  const outer = express().set("trust proxy", "loopback");
  outer.use((req, res, next) => {
    const { protocol: seen } = req;
    // The handler looks at the routes of the seller's app. The origin is the one that was named.
    Object.defineProperties(req, { app: { value: app }, protocol: { value: seen } });
    handler(req, res, next);
  });
  const server = outer.listen(0, "127.0.0.1");
  try {
    const headers = { host, "x-forwarded-host": host, "x-forwarded-proto": protocol.slice(0, -1) };
    return JSON.parse(await getFrom(server, headers)) as object;
  } finally {
    server.close();
  }
}

/** The body of `GET /` with headers that `fetch` would not send. */
async function getFrom(server: Server, headers: Readonly<Record<string, string>>): Promise<string> {
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", headers, agent: false }, (response) => {
      text(response).then(resolve, reject);
    });
    sent.on("error", reject).end();
  });
}
