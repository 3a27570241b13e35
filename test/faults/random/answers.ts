/**
 * Whether an answer is one of those that `docs/reference/lifecycle.md` has, and says the truth about the money.
 *
 * @see `docs/reference/responses.md`
 * @module
 */
import { type Answer, type Request, readReceipt } from "./notes.js";
import type { Shop } from "./shop.js";

/** What our own answers say, by their status. */
const ERRORS: Readonly<Record<number, readonly string[]>> = {
  409: ["payment_in_progress", "payment_identifier_conflict", "answer_not_kept"],
  // Of a handler that sent less than it said.
  500: ["unexpected_settle_error"],
  429: ["too_many_payments", "too_many_copies"],
  503: ["unexpected_verify_error", "unexpected_settle_error", "settlement_pending"],
  504: ["payment_expired"],
};

/** Errors after which the same request is to be repeated. */
const PASSING: readonly string[] = [
  "payment_in_progress",
  "too_many_payments",
  "too_many_copies",
  ...(ERRORS[503] ?? []),
];

/** 5. Every response is a documented one, and misleads no client. */
export function checkAnswers(shop: Shop, request: Request): readonly string[] {
  const { answer, payment, id, isAlone } = request;
  // Of an answer that broke off there is nothing to be said.
  if (answer === undefined || !answer.isWhole) return [];
  const isHandlers = answer.headers["x-handler"] !== undefined || isUnsold(answer) || isErrorPage(answer);
  const problems = isHandlers ? checkHandlers(shop, answer) : checkOurs(answer);
  if (answer.status === 402 && answer.state === "unknown") {
    problems.push("was asked to pay anew while the outcome is unknown");
  }
  if (isAlone && answer.isPaid && answer.body.includes("not charged")) {
    problems.push("was told that nothing was charged, and it was");
  }
  return problems.map((problem) => `[5] ${payment.name}, request ${id}, status ${answer.status}: ${problem}`);
}

/** Goods, or a link to them. */
export function isSold({ status }: Answer): boolean {
  return status === 200 || status === 303;
}

/** What handlers answer that sell nothing. No header says so: those of a handler are part of the goods. */
function isUnsold({ status, body }: Answer): boolean {
  return status === 304 || status === 307 || (status === 500 && body.includes("sorry"));
}

/** By which Express answers what a handler throws. */
function isErrorPage({ status, headers }: Answer): boolean {
  return status === 500 && String(headers["content-type"]).startsWith("text/html");
}

function checkHandlers({ plan }: Shop, answer: Answer): string[] {
  const { status, headers } = answer;
  const problems: string[] = [];
  const { success, transaction } = readReceipt(answer);
  if (![200, 303, 304, 307, 500].includes(status)) problems.push("the head of a handler's answer on another one");
  if (success === undefined) problems.push("a handler's answer without a receipt");
  if (success === false && (isSold(answer) || transaction !== ""))
    problems.push("goods, or money, that were not charged");
  if (success === false && (headers["x-handler"] ?? headers["x-late"]) !== undefined)
    problems.push("a header of the goods, which were not charged");
  if (success === true && !isSold(answer) && plan.settle === "after" && !answer.isPaid)
    problems.push("an error was charged");
  const cache = String(headers["cache-control"]);
  if (success === true && !/^private\b|^no-store$/.test(cache))
    problems.push(`a paid answer is Cache-Control: ${cache}`);
  return problems;
}

function checkOurs(answer: Answer): string[] {
  const { status, headers } = answer;
  const problems: string[] = [];
  const error = errorOf(answer);
  const isChallenge = headers["payment-required"] !== undefined;
  if ((status === 402) !== isChallenge) problems.push("a challenge belongs to 402");
  if (status !== 402 && ERRORS[status]?.includes(error) !== true) problems.push(`is not documented: ${error}`);
  if (headers["cache-control"] !== "no-store") problems.push(`is Cache-Control: ${headers["cache-control"]}`);
  if (PASSING.includes(error) && ![402, 500].includes(status) && headers["retry-after"] === undefined)
    problems.push("no Retry-After");
  const leaked = ["x-late", "location"].filter((name) => headers[name] !== undefined);
  if (leaked.length > 0 || answer.body.includes('"goods":')) problems.push("has something of the handler's");
  return problems;
}

function errorOf({ body, headers }: Answer): string {
  if (!String(headers["content-type"]).startsWith("application/json")) return "";
  const { error } = JSON.parse(body) as { readonly error?: string };
  return error ?? "";
}
