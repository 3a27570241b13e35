/**
 * What a seller says of its service beside the resource. Optional, so that what is unfit is left out, not refused.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isPublicHost } from "./public-host.js";

/** The fit parts of it. */
export interface ServiceMetadata {
  readonly serviceName?: string;
  readonly tags?: readonly string[];
  readonly iconUrl?: string;
}

const SHORT_TEXT = /^[\x20-\x7e]{1,32}$/;
const MAX_TAGS = 5;
const MAX_ICON_URL = 2_048;

/** Takes over what is fit: printable ASCII of at most 32 characters, at most 5 tags, an https icon on a public host. */
export function readServiceMetadata(resource: JsonObject): ServiceMetadata {
  const { serviceName, tags, iconUrl } = resource;
  const fitTags = readTags(tags);
  return {
    ...(isShortText(serviceName) ? { serviceName } : {}),
    ...(fitTags.length > 0 ? { tags: fitTags } : {}),
    ...(isIconUrl(iconUrl) ? { iconUrl } : {}),
  };
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && SHORT_TEXT.test(value);
}

function readTags(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  const byName = new Map<string, string>();
  for (const tag of value.slice(0, 100)) {
    if (isShortText(tag) && !byName.has(tag.toLowerCase())) byName.set(tag.toLowerCase(), tag);
  }
  return [...byName.values()].slice(0, MAX_TAGS);
}

function isIconUrl(value: unknown): value is string {
  if (typeof value !== "string" || value.length > MAX_ICON_URL || /\s/.test(value) || !URL.canParse(value))
    return false;
  const { protocol, username, password, hostname } = new URL(value);
  return protocol === "https:" && username + password === "" && isPublicHost(hostname);
}
