/**
 * The look of Farebox's pages: colors in light and dark mode, and what all pages share. Text on each color has a contrast of at least 4.5
 * to 1, and borders of fields one of 3 to 1.
 *
 * @module
 */

/** The start of a style sheet. */
export const THEME: string = `
:root {
  color-scheme: light dark;
  --bg: #f5f6f8; --surface: #ffffff; --text: #101623; --muted: #55607a; --line: #dde1ea; --edge: #7c869c;
  --accent: #2850d8; --on-accent: #ffffff; --ok: #0b6b43; --warn: #7a4f00; --bad: #b3261e;
  --shadow: 0 1px 2px #10162314, 0 8px 24px #10162312;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0d1117; --surface: #161b24; --text: #eef1f6; --muted: #a8b2c6; --line: #2d3544; --edge: #76829a;
    --accent: #93adff; --on-accent: #0b1020; --ok: #5bd6a0; --warn: #f0b95b; --bad: #ff8f86; --shadow: none;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--bg); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
h1, h2, h3, p, ol, ul, dl, dd { margin: 0; padding: 0; }
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
`;
