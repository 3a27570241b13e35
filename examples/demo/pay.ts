/**
 * `pnpm pay <url>`: pays for a URL with the payer of the demo, whose money exists only on the local chain. The options are
 * those of curl.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { anvilAccounts } from "@farebox/testing";
import { decodeHeader, payFor } from "./client.js";
import { DemoError } from "./demo-error.js";
import { bad, good, line, value } from "./screen.js";

const USAGE = `usage: pay [options] <url>

  -X, --method <method>   default GET, or POST with --data (--request is the same)
  -d, --data <data>       the body; @file reads a file, @- reads stdin; several are joined by &
  -H, --header <header>   "name: value"; may be repeated
  -h, --help              prints this

  pay http://127.0.0.1:4021/weather
  pay -d '{"text":"one two"}' -H 'content-type: application/json' http://127.0.0.1:4021/words`;

/** A request to pay for. */
interface Order {
  readonly url: string;
  readonly init: RequestInit;
}

const OPTIONS = {
  method: { type: "string", short: "X" },
  request: { type: "string" },
  data: { type: "string", short: "d", multiple: true },
  header: { type: "string", short: "H", multiple: true },
  help: { type: "boolean", short: "h" },
} as const;

const payer = anvilAccounts[1];

try {
  const order = readOrder();
  if (order === undefined) console.log(USAGE);
  else if (payer === undefined) throw new DemoError("no accounts");
  else await pay(order, payer.privateKey);
} catch (error) {
  fail(explain(error));
}

/** Reads the command line; `undefined` asks for help. */
function readOrder(): Order | undefined {
  const { values, positionals } = readArguments();
  if (values.help === true) return undefined;
  const [url, ...more] = positionals;
  if (url === undefined || more.length > 0 || !/^https?:/.test(url) || !URL.canParse(url)) {
    throw new DemoError("pay takes one http or https URL, for example: pay http://127.0.0.1:4021/weather (see --help)");
  }
  const body = values.data?.map(readData).join("&");
  const method = values.method ?? values.request ?? (body === undefined ? "GET" : "POST");
  if (body !== undefined && /^(?:get|head)$/i.test(method)) throw new DemoError(`${method} takes no --data`);
  const headers = readHeaders(values.header ?? []);
  // As curl does.
  if (body !== undefined && !headers.has("content-type"))
    headers.set("content-type", "application/x-www-form-urlencoded");
  return { url, init: { method, headers, ...(body === undefined ? {} : { body }) } };
}

function readArguments() {
  // pnpm passes `--` on to the script, before what the user wrote.
  const args = process.argv.slice(process.argv[2] === "--" ? 3 : 2);
  try {
    return parseArgs({ options: OPTIONS, args, allowPositionals: true });
  } catch (error) {
    const [problem] = (error instanceof Error ? error.message : "bad arguments").split(/[.\n]/, 1);
    throw new DemoError(`${problem} (see --help)`);
  }
}

/** Line breaks of a file are removed, as curl does. */
function readData(data: string): string {
  if (!data.startsWith("@")) return data;
  const source = data.slice(1);
  try {
    return readFileSync(source === "-" ? 0 : source, "utf8").replaceAll(/[\r\n]/g, "");
  } catch {
    throw new DemoError(`${JSON.stringify(source)} cannot be read`);
  }
}

function readHeaders(given: readonly string[]): Headers {
  const headers = new Headers();
  for (const header of given) {
    const [, name, text] = /^([^:]+):(.*)$/s.exec(header) ?? [];
    try {
      if (name === undefined || text === undefined) throw new TypeError("no colon");
      headers.append(name.trim(), text.trim());
    } catch {
      throw new DemoError(`--header takes "name: value", not ${JSON.stringify(header)}`);
    }
  }
  return headers;
}

async function pay({ url, init }: Order, privateKey: `0x${string}`): Promise<void> {
  const response = await payFor(url, { init, privateKey }, ({ request, response: { status, statusText } }) => {
    line(`${request.method} ${request.url} → ${status} ${statusText}`);
  });
  line(await response.text());
  const receipt = decodeHeader(response.headers.get("PAYMENT-RESPONSE")) ?? (await fetchReceipt(response));
  if (receipt !== undefined) value(receipt);
  if (response.ok && receipt?.["success"] === true) good("paid");
  else fail(response.ok ? "the URL requires no payment" : `not paid: the response status is ${response.status}`);
}

/** A metered response has its receipt at its end, which `fetch` does not show, and by a URL. */
async function fetchReceipt({ headers }: Response): Promise<Record<string, unknown> | undefined> {
  const url = headers.get("PAYMENT-RECEIPT-URL");
  if (url === null) return undefined;
  for (;;) {
    const response = await fetch(url);
    if (response.status !== 202) return (await response.json()) as Record<string, unknown>;
    await setTimeout(1000 * Number(response.headers.get("Retry-After") ?? 1));
  }
}

function fail(text: string): void {
  bad(text);
  process.exitCode = 1;
}

/** The error of `fetch` holds the reason in its cause. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? `${error.message}: ${cause.message}` : error.message;
}
