/**
 * The style of the catalog page. The page that takes payments has the same theme.
 *
 * @module
 */
import { THEME } from "@farebox/paywall";

/** Readable in light and dark mode, at any width. The focused element is always visible. */
export const STYLE: string = `${THEME}
body { overflow-wrap: anywhere; }
.frame { max-width: 72rem; margin-inline: auto; padding: 1rem; }
.skip { position: absolute; inset-inline-start: -999rem; }
.skip:focus { position: static; display: inline-block; padding: .75rem; }
header { display: grid; gap: .5rem; padding-block: 1rem 1.25rem; }
h1 { font-size: 1.75rem; line-height: 1.2; letter-spacing: -.02em; }
h2 { font-size: 1.05rem; line-height: 1.35; overflow-wrap: anywhere; }
p { overflow-wrap: anywhere; }
.quiet { color: var(--muted); font-size: .9rem; }
form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; padding-block-start: .75rem; }
label { display: grid; grid-template-columns: minmax(0, 1fr); gap: .25rem; max-width: 100%; min-width: 0; font-size: .85rem; font-weight: 600; color: var(--muted); }
label.words { flex: 1 1 100%; }
input, select { font: 1rem/1.4 system-ui, sans-serif; color: var(--text); background: var(--surface); border: 1px solid var(--edge); border-radius: 10px; padding: .5rem .75rem; min-height: 44px; max-width: 100%; }
button, .button { display: inline-flex; align-items: center; justify-content: center; min-height: 44px; padding: .5rem 1.25rem; border: 1px solid transparent; border-radius: 10px; background: var(--accent); color: var(--on-accent); font: 600 1rem/1.4 system-ui, sans-serif; text-decoration: none; cursor: pointer; max-width: 100%; overflow-wrap: anywhere; }
.cards { list-style: none; display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); padding-block: .75rem; }
article, .card { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; box-shadow: var(--shadow); padding: 1.25rem; min-width: 0; }
.cards li { display: grid; grid-template-columns: minmax(0, 1fr); min-width: 0; }
.cards article { display: flex; flex-direction: column; gap: .75rem; position: relative; }
.cards article:hover { border-color: var(--edge); }
.head { display: flex; gap: .75rem; align-items: center; min-width: 0; }
.head > div { min-width: 0; }
.head svg { flex: none; width: 40px; height: 40px; }
.cards h2 a { color: inherit; text-decoration: none; }
.cards h2 a::after { content: ""; position: absolute; inset: 0; border-radius: 14px; }
.cards h2 a:focus-visible { outline: none; }
.cards h2 a:focus-visible::after { outline: 3px solid var(--accent); outline-offset: 2px; }
.clamp { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; }
.price { overflow-wrap: anywhere; font-size: 1.5rem; font-weight: 700; letter-spacing: -.01em; line-height: 1.2; }
.price small { display: block; font-size: .9rem; font-weight: 400; letter-spacing: 0; color: var(--muted); }
.foot { margin-block-start: auto; display: flex; flex-wrap: wrap; justify-content: space-between; align-items: end; gap: .5rem; }
.chips { display: flex; flex-wrap: wrap; gap: .35rem; list-style: none; }
.chip { border: 1px solid var(--line); border-radius: 99px; padding: .05rem .6rem; font-size: .8rem; color: var(--muted); max-width: 100%; overflow-wrap: anywhere; }
.confirmed { color: var(--ok); font-weight: 600; font-size: .85rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { margin: .5rem 0 0; padding: .75rem; border: 1px solid var(--line); border-radius: 10px; background: var(--bg); max-height: 24rem; overflow: auto; }
.detail, .detail .card, .detail article { display: grid; grid-template-columns: minmax(0, 1fr); gap: .75rem; }
.detail { gap: 1rem; padding-block: 1rem; }
dl { display: grid; gap: .5rem; }
dl > div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .1rem 1rem; border-block-start: 1px solid var(--line); padding-block-start: .5rem; }
dt { color: var(--muted); }
dd { min-width: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; min-height: 32px; }
nav { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; padding-block: .5rem; }
nav a { display: inline-block; min-height: 32px; }
@media (min-width: 48rem) { .frame { padding: 2rem 1.5rem; } label.words { flex: 1 1 20rem; } }
`;
