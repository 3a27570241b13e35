/**
 * Checks what a seller says in place of Farebox: the bodies of 402s, the page for browsers, and the URL of the resource.
 *
 * @module
 */
import { type Issues, issuePath } from "../issues.js";
import type { SettlementFailedBody, UnavailableBody, UnpaidBody } from "../options.js";
import type { PaywallSettings } from "../pricing/paywall.js";
import type { RouteBodies } from "../pricing/priced-route.js";
import type { JsonObject } from "../protocol/json.js";
import { describeWithoutSecrets } from "./parse-endpoints.js";
import { parsePaywall } from "./parse-paywall.js";

/**
 * Reads the bodies of a route.
 *
 * @param usual - The seller's page.
 */
export function parseBodies(given: JsonObject, path: string, usual: PaywallSettings, issues: Issues): RouteBodies {
  const { unpaidBody, settlementFailedBody, unavailableBody } = given;
  checkFunction(unpaidBody, issuePath(path, "unpaidBody"), issues);
  checkFunction(settlementFailedBody, issuePath(path, "settlementFailedBody"), issues);
  checkFunction(unavailableBody, issuePath(path, "unavailableBody"), issues);
  return {
    ...(unpaidBody === undefined ? {} : { unpaidBody: unpaidBody as UnpaidBody }),
    ...(settlementFailedBody === undefined
      ? {}
      : { settlementFailedBody: settlementFailedBody as SettlementFailedBody }),
    ...(unavailableBody === undefined ? {} : { unavailableBody: unavailableBody as UnavailableBody }),
    paywall: parsePaywall(given["paywall"], issuePath(path, "paywall"), usual, issues),
  };
}

function checkFunction(value: unknown, path: string, issues: Issues): void {
  if (value === undefined || typeof value === "function") return;
  issues.add(path, 'a function that returns { contentType: "application/json", body: { … } }', value);
}

const MAX_URL = 2048;

/** Printable ASCII: the URL is sent to clients, facilitators and catalogs as it is written. */
const URL_TEXT = /^[\x21-\x7e]+$/;

/** Reads the URL of a route's resource. */
export function parseResource(resource: unknown, path: string, issues: Issues): string | undefined {
  if (resource === undefined) return undefined;
  if (typeof resource === "string" && isResourceUrl(resource)) return resource;
  issues.addText(
    path,
    `an http or https URL of at most ${MAX_URL} ASCII characters without credentials and fragment, such as "https://api.example.com/weather"`,
    describeWithoutSecrets({ url: resource }),
  );
  return undefined;
}

function isResourceUrl(text: string): boolean {
  if (text.length > MAX_URL || !URL_TEXT.test(text) || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username + password === "" && !text.includes("#");
}
