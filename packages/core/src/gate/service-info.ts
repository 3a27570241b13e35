/**
 * What catalogs show of a service beside a resource: its name, tags and icon. Catalogs drop what does not keep to their
 * limits, and clients of MCP cannot read a challenge that does not, so it is an error at start.
 *
 * @see x402 v2 extension `bazaar`, "Service Metadata on resource"
 * @module
 */
import { isIP } from "node:net";
import { type Issues, join } from "../issues.js";
import type { ResourceInfo } from "../protocol/documents.js";
import type { JsonObject } from "../protocol/json.js";

/** Name, tags and icon, as far as they are given. */
export type ServiceInfo = Pick<ResourceInfo, "serviceName" | "tags" | "iconUrl">;

const PRINTABLE = /^[\x20-\x7e]{1,32}$/;
const MAX_TAGS = 5;
const MAX_ICON_URL = 2048;

/**
 * Reads them from a route or from the options.
 *
 * @param given - Unchecked, as the seller wrote it.
 * @param path - For issues.
 */
export function parseServiceInfo(given: JsonObject, path: string, issues: Issues): ServiceInfo {
  const { serviceName, tags, iconUrl } = given;
  if (serviceName !== undefined && !isShort(serviceName)) {
    issues.add(join(path, "serviceName"), "1 to 32 printable ASCII characters", serviceName);
  }
  if (tags !== undefined && !isTags(tags)) {
    issues.add(join(path, "tags"), `at most ${MAX_TAGS} tags of 1 to 32 printable ASCII characters`, tags);
  }
  if (iconUrl !== undefined && !isIconUrl(iconUrl)) {
    issues.add(
      join(path, "iconUrl"),
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

/** What a name may end in that nobody outside can look up. */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa|test|invalid)\.?$/;

/** Whether a host is a name that anybody can look up. */
function isPublicName(hostname: string): boolean {
  return isIP(withoutBrackets(hostname)) === 0 && hostname.includes(".") && !PRIVATE_NAME.test(hostname);
}

/** Addresses of one machine and of private networks. */
const PRIVATE_ADDRESS =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./;
const PRIVATE_ADDRESS_6 = /^(?:::1?|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*|::ffff:.*)$/;

/** Whether a URL is one that strangers would use, and without encryption. */
export function isPublicWithoutTls(url: string): boolean {
  if (!url.startsWith("http://") || !URL.canParse(url)) return false;
  const host = withoutBrackets(new URL(url).hostname);
  if (isIP(host) === 4) return !PRIVATE_ADDRESS.test(host);
  return isIP(host) === 6 ? !PRIVATE_ADDRESS_6.test(host) : isPublicName(host);
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
