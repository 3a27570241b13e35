/**
 * Runs in the document that the server sends for the HTML that was paid for. It writes that HTML in place of itself, and says at the edge
 * that it was paid.
 *
 * @module
 */
import { readView, type View } from "./pending.js";

// biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser
document.cookie = "farebox-view=; Path=/; Max-Age=0; SameSite=Strict";
const view = readView();
if (view === undefined) location.replace(location.href);
else write(view);

function write({ html, policy, label, close, link }: View): void {
  const begin = /^\s*(?:<!doctype[^>]*>)?/i.exec(html)?.[0] ?? "";
  const meta = document.createElement("meta");
  meta.httpEquiv = "Content-Security-Policy";
  meta.content = policy ?? "";
  document.open();
  document.write(begin + (policy === null ? "" : meta.outerHTML) + html.slice(begin.length));
  document.close();
  addEventListener("load", () => document.body?.append(badge(label, close, link)));
}

/** The receipt. The page's style does not reach into it, and no policy of the page hinders it. */
function badge(label: string, close: string, link: View["link"]): HTMLElement {
  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "closed" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    div { position: fixed; inset-block-end: 1rem; inset-inline-end: 1rem; z-index: 2147483647; display: flex; gap: .75rem; align-items: center;
      max-width: calc(100vw - 2rem); box-sizing: border-box; padding: .5rem .5rem .5rem 1rem; border-radius: 12px; background: #101623; color: #fff;
      font: 14px/1.4 system-ui, sans-serif; box-shadow: 0 8px 24px #0006; }
    a { color: #b9caff; } button { min-width: 32px; min-height: 32px; border: 0; border-radius: 8px; background: #ffffff22; color: inherit; font: inherit; cursor: pointer; }
    :focus-visible { outline: 3px solid #b9caff; outline-offset: 2px; }`);
  root.adoptedStyleSheets = [sheet];
  const box = document.createElement("div");
  box.append(label);
  if (link !== null) {
    const anchor = document.createElement("a");
    anchor.href = link.url;
    anchor.target = "_blank";
    anchor.rel = "noopener noreferrer";
    anchor.textContent = link.text;
    box.append(anchor);
  }
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-label", close);
  button.textContent = "\u00d7";
  button.addEventListener("click", () => host.remove());
  box.append(button);
  root.append(box);
  return host;
}
