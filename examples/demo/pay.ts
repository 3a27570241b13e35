/**
 * `pnpm pay <url>`: pays for a URL with the payer of the demo, whose money exists only on the local chain.
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
    const response = await payFor(target, privateKey, (exchange) => {
      const { status, statusText } = exchange.response;
      line(`${exchange.request.method} ${exchange.request.url} → ${status} ${statusText}`);
    });
    line(await response.text());
    const receipt = decodeHeader(response.headers.get("PAYMENT-RESPONSE"));
    if (receipt !== undefined) value(receipt);
    if (response.ok && receipt?.["success"] === true) good("paid");
    else fail(response.ok ? "the URL requires no payment" : `not paid: the response status is ${response.status}`);
  } catch (error) {
    fail(explain(error));
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
