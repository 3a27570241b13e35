/**
 * Checks what goes into a request that comes with a payment, before the payment is claimed.
 *
 * @module
 */

import { bodyNotParsedFinding } from "../events/findings.js";
import type { InputProblem } from "../extension.js";
import { type Arrival, toPriceRequest } from "./arrival.js";
import { bodyTypeOf, checkDeclaredInput } from "./declarations.js";
import type { InputValidator } from "./options.js";
import type { PaymentsConfig } from "./parse-options.js";
import { type GateResponse, invalidInputAnswer, problemAnswer } from "./responses.js";

/** What a client is told whose request will not do; `undefined`: it will. May reject: by a function of the seller's. */
export async function refuseInput(
  arrival: Arrival,
  url: string,
  config: Pick<PaymentsConfig, "findings">,
): Promise<GateResponse | undefined> {
  const { validate } = arrival.route;
  if (validate === undefined) return undefined;
  if (validate !== true) return refuseBy(validate, arrival, url);
  const { declarations } = arrival.route;
  const { method, search, hasBody = false, body } = arrival.request;
  const unread = hasBody ? explainBody(arrival, bodyTypeOf(declarations, method)) : undefined;
  if (unread === "unparsed") {
    config.findings.add(bodyNotParsedFinding(arrival.route.key));
    return uncheckedAnswer();
  }
  const { pathParams } = arrival.locate();
  const input = { method, search, pathParams, body: hasBody ? body : undefined };
  const problems = unread === undefined ? checkDeclaredInput(declarations, input) : [unread];
  return problems.length === 0 ? undefined : invalidInputAnswer(problems);
}

async function refuseBy(validate: InputValidator, arrival: Arrival, url: string): Promise<GateResponse | undefined> {
  const said: unknown = await validate(toPriceRequest(arrival, url));
  if (said === undefined) return undefined;
  const texts: readonly unknown[] = Array.isArray(said) ? said : [said];
  if (!texts.every((text) => typeof text === "string"))
    throw new TypeError("validate: expected a text, several, or nothing");
  return texts.length === 0 ? undefined : invalidInputAnswer(texts.map((message) => ({ message })));
}

/** What bodies are sent as, by the type that is declared. */
const MEDIA_TYPES = {
  json: { expression: /^[^;]*[/+]json\s*(?:;|$)/i, message: "must be sent with Content-Type: application/json" },
  "form-data": {
    expression: /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\s*(?:;|$)/i,
    message: "must be sent with Content-Type: multipart/form-data",
  },
} as const;

/** Why a body cannot be checked: it is of another type, or nobody has read it. */
function explainBody(
  { request }: Arrival,
  bodyType: ReturnType<typeof bodyTypeOf>,
): InputProblem | "unparsed" | undefined {
  if (bodyType === undefined) return undefined;
  const contentType = request.header?.("content-type") ?? "";
  if (bodyType !== "text" && !MEDIA_TYPES[bodyType].expression.test(contentType)) {
    return { in: "body", at: "", message: MEDIA_TYPES[bodyType].message };
  }
  return request.body === undefined ? "unparsed" : undefined;
}

/** The seller's fault, and not what the client has paid for. */
function uncheckedAnswer(): GateResponse {
  return problemAnswer({
    status: 500,
    error: "unexpected_verify_error",
    message: "The server cannot check this request. Nothing was charged.",
  });
}
