/**
 * `pnpm pay <url>`: pays for a URL with the demo's payer, whose money exists only on the local chain.
 *
 * @module
 */
import { anvilAccounts } from "@farebox/testing";
import { decodeHeader, payFor } from "./client.js";
import { bad, good, line, value } from "./screen.js";

const url = process.argv.slice(2).find((argument) => argument !== "--");
const payer = anvilAccounts[1];

if (url === undefined || !URL.canParse(url) || payer === undefined) {
  bad("usage: pay <url>, for example: pay http://127.0.0.1:4021/weather");
  process.exitCode = 1;
} else {
  await pay(url, payer.privateKey);
}

async function pay(target: string, privateKey: `0x${string}`): Promise<void> {
  try {
    const response = await payFor(target, privateKey, ({ request, response: answer }) => {
      line(`${request.method} ${request.url} → ${answer.status} ${answer.statusText}`);
    });
    line(await response.text());
    const receipt = decodeHeader(response.headers.get("PAYMENT-RESPONSE"));
    if (receipt !== undefined) value(receipt);
    if (response.ok && receipt?.["success"] === true) good("paid");
    else fail(response.ok ? "the URL asked for no payment" : `not paid: the answer is ${response.status}`);
  } catch (error) {
    fail(explain(error));
  }
}

function fail(text: string): void {
  bad(text);
  process.exitCode = 1;
}

/** `fetch` says why it failed in the cause of its error. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? `${error.message}: ${cause.message}` : error.message;
}
