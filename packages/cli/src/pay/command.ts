/**
 * `farebox pay`: pays for a URL, and shows each step.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { anvilAccounts, createPayer, type Payer, PayerError } from "@farebox/testing";
import { CliError, wrongCall } from "../frame/cli-error.js";
import { type Command, defineCommand } from "../frame/command.js";
import { printable, type Terminal } from "../frame/terminal.js";
import { describeDollars, parseDollars } from "./dollars.js";
import { type Order, type Purchase, Purchaser } from "./purchase.js";

/** The default of `--max`. */
const DEFAULT_MAX = "$0.05";

export const command: Command = defineCommand({
  name: "pay",
  summary: "Pays for a URL, at most so much, and shows each step",
  usage: "[options] <url>",
  options: {
    max: { type: "string", value: "dollars", default: DEFAULT_MAX, description: "The most to pay" },
    method: { type: "string", value: "method", description: "GET, or POST with --data" },
    data: { type: "string", value: "data", description: "The body; @file reads a file" },
    header: { type: "string", multiple: true, value: "name: value", description: "A header of the request" },
    timeout: {
      type: "string",
      value: "seconds",
      default: "60",
      description: "The time limit of each request, 1 to 600",
    },
    json: { type: "boolean", description: "Prints the result as JSON, with the body as text" },
  },
  details: `The key is the environment variable FAREBOX_KEY: 0x and 64 hex digits, of an EVM account that holds the money. Without it, the demo's key pays, whose
money exists only on a local chain; it is refused on main networks. No key is ever an argument.

One payment is signed. If its outcome is unknown, the same payment is sent again, until it expires. The body goes to standard output, all else to
standard error. Exits with 0 if the response came, paid or free.

  farebox pay http://127.0.0.1:4021/weather
  farebox pay https://api.example.com/words --data '{"text":"one two"}' --max '$0.01'`,
  async run({ options, args, env, terminal, clock, signal }) {
    const order = readOrder(args, options);
    const max = parseDollars(options.max);
    if (max === undefined) {
      throw wrongCall(
        `--max is an amount of dollars, not ${JSON.stringify(options.max)}`,
        `Write --max '${DEFAULT_MAX}'`,
      );
    }
    const key = env["FAREBOX_KEY"];
    const purchaser = new Purchaser({
      payer: openPayer(key),
      isDemo: key === undefined || key === "",
      max,
      timeoutMs: readSeconds(options.timeout) * 1000,
      clock,
      signal,
      tell: (line) => terminal.warn(printable(line, 2_000)),
    });
    const purchase = await purchaser.buy(order);
    if (options.json) terminal.printJson(toJson(purchase));
    else printBody(purchase, terminal);
    return purchase.status < 400 ? 0 : 1;
  },
});

function openPayer(key: string | undefined): Payer {
  const [, demo] = anvilAccounts;
  const privateKey = key === undefined || key === "" ? demo?.privateKey : key;
  try {
    return createPayer({ privateKey: privateKey as `0x${string}` });
  } catch (error) {
    if (!(error instanceof PayerError)) throw error;
    // The text of the error does not quote the key.
    throw new CliError(
      "FAREBOX_CLI_KEY",
      "FAREBOX_KEY is no key",
      "Set it to 0x and the 64 hex digits of an EVM account's private key",
    );
  }
}

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d{1,3}$/.test(text) && seconds >= 1 && seconds <= 600) return seconds;
  throw wrongCall(`--timeout is a whole number from 1 to 600, not ${JSON.stringify(text)}`, "Write --timeout 60");
}

interface OrderOptions {
  readonly method: string | undefined;
  readonly data: string | undefined;
  readonly header: readonly string[];
}

function readOrder([url, ...more]: readonly string[], { method, data, header }: OrderOptions): Order {
  if (url === undefined || more.length > 0 || !/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw wrongCall("name one http or https URL", "Write farebox pay http://127.0.0.1:4021/weather");
  }
  const body = data === undefined ? undefined : readData(data);
  const verb = (method ?? (body === undefined ? "GET" : "POST")).toUpperCase();
  if (!/^[A-Z]{1,20}$/.test(verb))
    throw wrongCall(`--method is no method: ${JSON.stringify(method)}`, "Write --method POST");
  if (body !== undefined && (verb === "GET" || verb === "HEAD"))
    throw wrongCall(`${verb} takes no --data`, "Write --method POST");
  const headers = readHeaders(header);
  if (body !== undefined && !headers.has("content-type")) {
    headers.set("content-type", isJson(body) ? "application/json" : "application/x-www-form-urlencoded");
  }
  return { url, method: verb, headers, body };
}

function readData(data: string): string {
  if (!data.startsWith("@")) return data;
  try {
    return readFileSync(data.slice(1), "utf8");
  } catch (cause) {
    throw new CliError("FAREBOX_CLI_READ", `${JSON.stringify(data.slice(1))} cannot be read`, "Name a file behind @", {
      cause,
    });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function readHeaders(given: readonly string[]): Headers {
  const headers = new Headers();
  for (const header of given) {
    const at = header.indexOf(":");
    try {
      headers.append(header.slice(0, Math.max(at, 0)).trim(), header.slice(at + 1).trim());
    } catch {
      throw wrongCall(
        `--header is "name: value", not ${JSON.stringify(header)}`,
        'Write --header "accept: text/plain"',
      );
    }
  }
  return headers;
}

function printBody({ body }: Purchase, terminal: Terminal): void {
  if (!terminal.isTerminal) {
    terminal.write(body);
    return;
  }
  for (const line of body.split("\n")) terminal.print(printable(line, 10_000));
}

function toJson({ status, body, offer, cost, receipt, steps, headers }: Purchase) {
  return {
    status,
    paid: receipt?.success === true,
    ...(cost === undefined ? {} : { cost: describeDollars(cost) }),
    ...(offer === undefined ? {} : { offer }),
    ...(receipt === undefined ? {} : { receipt }),
    steps,
    headers: Object.fromEntries(headers),
    body,
  };
}
