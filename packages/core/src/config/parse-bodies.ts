/**
 * Checks what a seller says in place of Farebox: the bodies of 402s, the page for browsers, and the URL of the resource.
 *
 * @module
 */
import { type Issues, issuePath } from "../issues.js";
import type { Page, SettlementFailedBody, UnpaidBody } from "../options.js";
import type { RouteBodies } from "../pricing/priced-route.js";
import type { JsonObject } from "../protocol/json.js";
import { describeWithoutSecrets } from "./parse-endpoints.js";

/**
 * Reads the bodies of a route.
 *
 * @param usual - The page of routes without their own.
 */
export function parseBodies(given: JsonObject, path: string, usual: Page | undefined, issues: Issues): RouteBodies {
  const { unpaidBody, settlementFailedBody } = given;
  const page = parsePage(given["page"], issuePath(path, "page"), issues) ?? usual;
  checkFunction(unpaidBody, issuePath(path, "unpaidBody"), issues);
  checkFunction(settlementFailedBody, issuePath(path, "settlementFailedBody"), issues);
  return {
    ...(unpaidBody === undefined ? {} : { unpaidBody: unpaidBody as UnpaidBody }),
    ...(settlementFailedBody === undefined
      ? {}
      : { settlementFailedBody: settlementFailedBody as SettlementFailedBody }),
    ...(page === undefined ? {} : { page }),
  };
}

function checkFunction(value: unknown, path: string, issues: Issues): void {
  if (value === undefined || typeof value === "function") return;
  issues.add(path, 'a function that returns { contentType: "application/json", body: { … } }', value);
}

/** Reads a page of a route or of the options. */
export function parsePage(page: unknown, path: string, issues: Issues): Page | undefined {
  if (page === undefined || typeof page === "function") return page as Page | undefined;
  if (typeof page === "string" && page.trim() !== "") return page;
  issues.add(path, "HTML, or a function that returns it", page);
  return undefined;
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
