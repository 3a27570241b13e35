/**
 * The faults of a facilitator by the names that sequences have for them.
 *
 * @module
 */
import type { Fault } from "@farebox/testing";
import type { AnyFault } from "./plan.js";

const HTML = "<html><body>at Object.<anonymous> (/srv/app.js:1:1)</body></html>";

/** A stranger's: a payer, or an amount, that no sequence has. */
const OTHER_PAYER = "0x00000000000000000000000000000000000000aa";

/** The fault that is called so. */
export function toFault(name: AnyFault): Fault {
  switch (name) {
    case "drop":
      return { kind: "drop" };
    case "drop after":
      return { kind: "drop", when: "after" };
    case "500":
      return { kind: "status", status: 500, body: HTML };
    case "502 after":
      return { kind: "status", status: 502, body: HTML, when: "after" };
    case "401":
      return { kind: "status", status: 401 };
    case "401 after":
      return { kind: "status", status: 401, when: "after" };
    case "429":
      return { kind: "status", status: 429, headers: { "Retry-After": "7" } };
    case "429 after":
      return { kind: "status", status: 429, headers: { "Retry-After": "7" }, when: "after" };
    case "garbage":
      return { kind: "garbage" };
    case "garbage after":
      return { kind: "garbage", when: "after" };
    case "empty":
      return { kind: "empty" };
    case "settlement_pending":
      return rewriting({ success: false, errorReason: "settlement_pending" });
    case "other payer":
      return rewriting({ payer: OTHER_PAYER });
    case "other amount":
      return rewriting({ amount: "1" });
    case "other network":
      return rewriting({ network: "eip155:1" });
    case "no transaction":
      return rewriting({ transaction: "" });
    case "no funds":
      // It has not tried to move anything.
      return { kind: "status", status: 200, body: JSON.stringify(NO_FUNDS) };
    case "refused by 400":
    case "refused by 402":
    case "refused by 409":
    case "refused by 422":
      return {
        kind: "status",
        status: Number(name.slice(-3)),
        body: JSON.stringify({ error: "The free tier is used up" }),
      };
    case "own trouble":
      return rewriting({ isValid: false, invalidReason: "unexpected_verify_error" });
    default:
      return name satisfies never;
  }
}

const NO_FUNDS = {
  isValid: false,
  invalidReason: "insufficient_funds",
  success: false,
  errorReason: "insufficient_funds",
  transaction: "",
  network: "eip155:84532",
};

function rewriting(changes: object): Fault {
  return { kind: "rewrite", rewrite: (answer) => ({ ...answer, ...changes }) };
}
