/**
 * Checks the name, tags and icon of a service, which catalogs show. Catalogs drop values beyond their limits, and MCP
 * clients cannot read a challenge with them. Such a value is therefore an error at start-up.
 *
 * @see x402 v2 extension `bazaar`, "Service Metadata on resource"
 * @module
 */
import { type Issues, issuePath } from "../issues.js";
import type { ServiceInfo } from "../pricing/challenge.js";
import { isPublicName } from "../pricing/resource.js";
import type { JsonObject } from "../protocol/json.js";

const PRINTABLE = /^[\x20-\x7e]{1,32}$/;
const MAX_TAGS = 5;
const MAX_ICON_URL = 2048;

/**
 * Reads name, tags and icon from a route or from the options.
 *
 * @param given - Unchecked, as the seller wrote it.
 * @param path - The path of the route or options in an issue.
 */
export function parseServiceInfo(given: JsonObject, path: string, issues: Issues): ServiceInfo {
  const { serviceName, tags, iconUrl } = given;
  if (serviceName !== undefined && !isShort(serviceName)) {
    issues.add(issuePath(path, "serviceName"), "1 to 32 printable ASCII characters", serviceName);
  }
  if (tags !== undefined && !isTags(tags)) {
    issues.add(issuePath(path, "tags"), `at most ${MAX_TAGS} tags of 1 to 32 printable ASCII characters`, tags);
  }
  if (iconUrl !== undefined && !isIconUrl(iconUrl)) {
    issues.add(
      issuePath(path, "iconUrl"),
      `an http or https URL of at most ${MAX_ICON_URL} characters, with the name of a public host and without credentials`,
      iconUrl,
    );
  }
  return Object.freeze({
    ...(isShort(serviceName) ? { serviceName } : {}),
    ...(isTags(tags) && tags.length > 0 ? { tags: Object.freeze([...tags]) } : {}),
    ...(isIconUrl(iconUrl) ? { iconUrl } : {}),
  });
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && PRINTABLE.test(value);
}

function isTags(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= MAX_TAGS && value.every(isShort);
}

function isIconUrl(value: unknown): value is string {
  if (typeof value !== "string" || value.length > MAX_ICON_URL || /\p{Cc}/u.test(value)) return false;
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, hostname } = new URL(value);
  return /^https?:$/.test(protocol) && username === "" && password === "" && isPublicName(hostname);
}
