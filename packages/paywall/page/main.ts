/**
 * The page that takes a payment.
 *
 * READ THIS FIRST: `main.ts` reads the data, `checkout.ts` is what the person sees, `wallets.ts` finds wallets, `evm.ts` and `svm.ts` sign,
 * `send.ts` sends the payment until its outcome is known, `show.ts` shows the response, `viewer.ts` shows HTML.
 *
 * @module
 */
import type { PageData } from "../src/page-data.js";
import type { Challenge } from "./challenge.js";
import { Checkout } from "./checkout.js";

function read(id: string): unknown {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null");
}

const page = read("farebox-page") as PageData;
document.documentElement.dataset["method"] = page.method;
const checkout = document.getElementById("checkout");
if (checkout !== null && page.options.length > 0) {
  new Checkout(checkout, read("payment-required") as Challenge, page).start();
}
