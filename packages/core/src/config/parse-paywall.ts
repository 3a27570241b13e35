/**
 * Checks the seller's settings of the page for browsers.
 *
 * @module
 */
import { type Issues, issuePath } from "../issues.js";
import type { Paywall, PaywallHtml } from "../options.js";
import { ENGLISH, type PaywallTexts, type PaywallTranslation } from "../paywall-texts.js";
import type { PaywallSettings } from "../pricing/paywall.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";

const KEYS = Object.keys({
  title: true,
  logo: true,
  colors: true,
  texts: true,
  testnet: true,
  html: true,
} satisfies Record<keyof Paywall, true>);
const COLORS = ["accent", "background", "surface", "text"] as const;
const MAX_TITLE = 100;
const MAX_LOGO = 50_000;
const MAX_TEXT = 500;

/** Reads the settings of a route, or the seller's. @param usual - Those that hold for what is not set. */
export function parsePaywall(given: unknown, path: string, usual: PaywallSettings, issues: Issues): PaywallSettings {
  if (given === undefined) return usual;
  if (!issues.checkKeys(path, given, KEYS)) return usual;
  const settings: PaywallSettings = {
    ...usual,
    ...readTitle(given, path, issues),
    ...readLogo(given, path, issues),
    ...readColors(given, path, usual, issues),
    texts: readTexts(given, path, usual, issues),
    ...readTestnet(given, path, issues),
    ...readHtml(given, path, issues),
  };
  return Object.freeze(settings);
}

function readTitle({ title }: JsonObject, path: string, issues: Issues): Pick<PaywallSettings, "title"> {
  if (title === undefined) return {};
  if (typeof title === "string" && title.trim() !== "" && title.length <= MAX_TITLE) return { title };
  issues.add(issuePath(path, "title"), `a text of 1 to ${MAX_TITLE} characters`, title);
  return {};
}

const IMAGE = /^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/;

/** A path of this origin; `//host` would be another one. */
const OWN_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

function readLogo({ logo }: JsonObject, path: string, issues: Issues): Pick<PaywallSettings, "logo"> {
  if (logo === undefined) return {};
  if (typeof logo === "string" && logo.length <= MAX_LOGO && (IMAGE.test(logo) || OWN_PATH.test(logo))) return { logo };
  issues.add(
    issuePath(path, "logo"),
    `a path of this server such as "/logo.svg", or a data: URL of an image of at most ${MAX_LOGO} characters: the page loads nothing from other origins`,
    logo,
  );
  return {};
}

function readColors(
  { colors }: JsonObject,
  path: string,
  usual: PaywallSettings,
  issues: Issues,
): Pick<PaywallSettings, "colors"> {
  if (colors === undefined) return {};
  const at = issuePath(path, "colors");
  if (!issues.checkKeys(at, colors, COLORS)) return {};
  const read: Record<string, string> = { ...usual.colors };
  for (const name of COLORS) {
    const { [name]: color } = colors;
    if (color === undefined) continue;
    if (typeof color === "string" && /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(color)) read[name] = color;
    else issues.add(issuePath(at, name), 'a color such as "#2850d8"', color);
  }
  return { colors: Object.freeze(read) };
}

function readTexts(
  { texts }: JsonObject,
  path: string,
  usual: PaywallSettings,
  issues: Issues,
): PaywallSettings["texts"] {
  if (texts === undefined) return usual.texts;
  const at = issuePath(path, "texts");
  if (!isJsonObject(texts)) {
    issues.add(at, 'texts by language, such as { en: { pay: "Buy for {price}" } }', texts);
    return usual.texts;
  }
  const read: Record<string, PaywallTranslation> = { ...usual.texts };
  for (const [language, translation] of Object.entries(texts)) {
    const here = issuePath(at, language);
    if (!/^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/i.test(language))
      issues.add(here, 'a language such as "de" or "pt-BR"', language);
    else if (issues.checkKeys(here, translation, Object.keys(ENGLISH))) {
      read[language] = { ...read[language], ...readTranslation(translation, here, issues) };
    }
  }
  return Object.freeze(read);
}

function readTranslation(given: JsonObject, path: string, issues: Issues): PaywallTranslation {
  const read: { -readonly [key in keyof PaywallTexts]?: string } = {};
  for (const key of Object.keys(ENGLISH) as (keyof PaywallTexts)[]) {
    const { [key]: text } = given;
    if (text === undefined) continue;
    const holes = holesOf(ENGLISH[key]);
    if (typeof text !== "string" || text.trim() === "" || text.length > MAX_TEXT) {
      issues.add(issuePath(path, key), `a text of 1 to ${MAX_TEXT} characters`, text);
    } else if (holesOf(text).some((hole) => !holes.includes(hole))) {
      issues.add(issuePath(path, key), holes.length === 0 ? "a text without {…}" : `only ${holes.join(", ")}`, text);
    } else {
      read[key] = text;
    }
  }
  return read;
}

function holesOf(text: string): readonly string[] {
  return text.match(/\{\w+\}/g) ?? [];
}

function readTestnet({ testnet }: JsonObject, path: string, issues: Issues): Pick<PaywallSettings, "testnet"> {
  if (testnet === undefined) return {};
  if (typeof testnet === "boolean") return { testnet };
  issues.add(issuePath(path, "testnet"), "true or false", testnet);
  return {};
}

function readHtml({ html }: JsonObject, path: string, issues: Issues): Pick<PaywallSettings, "html"> {
  if (html === undefined) return {};
  if (typeof html === "function" || (typeof html === "string" && html.trim() !== ""))
    return { html: html as PaywallHtml };
  issues.add(issuePath(path, "html"), "HTML, or a function that returns it", html);
  return {};
}
