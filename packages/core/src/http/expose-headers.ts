/**
 * `Access-Control-Expose-Headers`: without it a browser's script cannot read the challenge or the receipt.
 *
 * @see Fetch Standard, "CORS protocol", Access-Control-Expose-Headers
 * @module
 */
import { EXTENSION_RESPONSES } from "./extension-responses.js";
import { PAYMENT_REQUIRED } from "./payment-required.js";
import { PAYMENT_RESPONSE } from "./payment-response.js";

/** Name of the header. */
export const EXPOSE_HEADERS = "Access-Control-Expose-Headers";

const OURS = [PAYMENT_REQUIRED, PAYMENT_RESPONSE, EXTENSION_RESPONSES];
const OURS_ALONE = OURS.join(", ");

/** Appends our headers to those already exposed; a `*` already exposes them, unless the request has credentials. */
export function exposeHeaders(current: string | undefined): string {
  if (current === undefined || current.trim() === "") return OURS_ALONE;
  const names = current.split(",").map((name) => name.trim().toUpperCase());
  const missing = OURS.filter((name) => !names.includes(name));
  return missing.length === 0 ? current : `${current}, ${missing.join(", ")}`;
}
