/**
 * How the page looks, and what a browser is allowed to load for it: this style and nothing else.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** Readable in light and dark, at any width; what has the keyboard's focus is seen. */
export const STYLE: string = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 48rem; margin: 0 auto; padding: 1rem; }
a:focus-visible, input:focus-visible, select:focus-visible, button:focus-visible, summary:focus-visible {
  outline: 3px solid Highlight; outline-offset: 2px;
}
.skip { position: absolute; left: -999rem; }
.skip:focus { position: static; }
form { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: end; }
label { display: grid; gap: 0.25rem; }
label.words { flex: 1 1 16rem; }
input, select, button { font: inherit; padding: 0.4rem 0.6rem; }
ol { list-style: none; padding: 0; }
article { border-top: 1px solid GrayText; padding: 1rem 0; }
h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: 0.25rem 0; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
.tags { color: GrayText; }
nav { display: flex; gap: 1.5rem; }
`;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/** No script, no image, no frame: what sellers declare is text and stays text. */
export const POLICY: string = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
