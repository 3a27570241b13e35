/**
 * The style of the page that takes payments.
 *
 * @module
 */
import { THEME } from "./theme.js";

/** The style sheet, without the seller's colors. */
export const STYLE: string = `${THEME}
.frame { max-width: 60rem; margin-inline: auto; padding: 1rem; }
header { display: flex; align-items: center; gap: .75rem; padding-block: .5rem 1rem; font-weight: 600; overflow-wrap: anywhere; }
header img { width: 40px; height: 40px; object-fit: contain; border-radius: 10px; }
.mark { flex: none; display: grid; place-items: center; width: 40px; height: 40px; border-radius: 10px; background: var(--accent); color: var(--on-accent); font-weight: 700; }
.badge { display: inline-block; padding: .15rem .6rem; border-radius: 99px; border: 1px solid currentColor; color: var(--warn); font-size: .85rem; font-weight: 600; }
main { display: grid; gap: 1rem; align-items: start; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; box-shadow: var(--shadow); padding: 1.25rem; min-width: 0; }
.card > * + * { margin-block-start: 1rem; }
.card > :empty { margin: 0; }
h1 { font-size: 1.25rem; line-height: 1.3; overflow-wrap: anywhere; }
h2, legend { font-size: 1rem; font-weight: 600; padding: 0; }
.price { font-size: 2.75rem; line-height: 1.1; font-weight: 700; letter-spacing: -.02em; overflow-wrap: anywhere; }
.price small { display: block; margin-block-start: .35rem; font-size: 1rem; font-weight: 400; letter-spacing: 0; color: var(--muted); }
.quiet { color: var(--muted); font-size: .9rem; overflow-wrap: anywhere; }
dl { display: grid; gap: .5rem; border-block-start: 1px solid var(--line); padding-block-start: 1rem; }
dl > div { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem 1rem; }
dt { color: var(--muted); }
dd { overflow-wrap: anywhere; min-width: 0; text-align: end; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
pre { margin: 0; font: .875rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 32rem; overflow: auto; padding: .75rem; background: var(--bg); border-radius: 10px; border: 1px solid var(--line); }
fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
.choices { display: grid; gap: .5rem; margin-block-start: .5rem; }
.choice { display: flex; align-items: center; gap: .75rem; min-height: 52px; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: 10px; cursor: pointer; overflow-wrap: anywhere; }
.choice:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.choice:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
.choice input { accent-color: var(--accent); width: 18px; height: 18px; margin: 0; flex: none; outline: none; }
.choice img, .choice svg { width: 28px; height: 28px; flex: none; border-radius: 8px; }
.choice { flex-wrap: wrap; }
.choice span { min-width: 0; }
.choice span:not(.end) { flex: 1 1 7rem; }
.choice .end { flex: none; max-width: 45%; margin-inline-start: auto; color: var(--muted); text-align: end; }
button, .button { display: inline-flex; align-items: center; justify-content: center; min-height: 48px; padding: .5rem 1.25rem; border: 1px solid var(--edge); border-radius: 10px; background: var(--surface); color: var(--text); font: inherit; font-weight: 600; cursor: pointer; text-decoration: none; max-width: 100%; overflow-wrap: anywhere; text-align: center; }
button.main, .button.main { width: 100%; border-color: transparent; background: var(--accent); color: var(--on-accent); font-size: 1.1rem; min-height: 54px; }
button.small { min-height: 44px; padding: .25rem .75rem; font-weight: 500; }
button:hover:not([disabled]) { filter: brightness(1.08); }
button[disabled] { opacity: .65; cursor: default; }
.steps { list-style: none; display: grid; gap: .6rem; }
.steps li { display: flex; gap: .75rem; align-items: center; color: var(--muted); }
.steps li::before { content: ""; flex: none; width: 20px; height: 20px; border-radius: 50%; border: 2px solid var(--edge); }
.steps li.active { color: var(--text); font-weight: 600; }
.steps li.active::before { border-color: var(--accent); border-block-start-color: transparent; animation: spin 1s linear infinite; }
.steps li.done::before { content: "\\2713"; border-color: var(--ok); background: var(--ok); color: var(--surface); display: grid; place-items: center; font: 700 13px/1 system-ui, sans-serif; }
@keyframes spin { to { transform: rotate(1turn); } }
.problem { border-inline-start: 4px solid var(--bad); padding: .5rem .75rem; background: var(--bg); border-radius: 6px; overflow-wrap: anywhere; }
.good { display: flex; align-items: center; gap: .6rem; color: var(--ok); font-size: 1.25rem; font-weight: 700; }
.shown > * + * { margin-block-start: .75rem; }
.shown > a { display: inline-block; }
.card > #receipt { margin-block-start: 0; }
.row { display: flex; flex-wrap: wrap; gap: .75rem; }
.shown img, .shown video { display: block; max-width: 100%; height: auto; border-radius: 10px; }
.shown audio { width: 100%; }
.shown iframe { width: 100%; height: 70vh; border: 1px solid var(--line); border-radius: 10px; }
summary { cursor: pointer; min-height: 32px; }
[hidden] { display: none !important; }
@media (min-width: 52rem) {
  .frame { padding: 2.5rem 1.5rem; }
  main { grid-template-columns: minmax(0, 1fr) minmax(0, 1.1fr); gap: 1.5rem; }
  main.wide { grid-template-columns: minmax(0, 1fr); }
  .card { padding: 1.75rem; }
}
@media (forced-colors: active) { .choice:has(:checked) { outline: 3px solid Highlight; } .steps li.active::before { animation: none; } }
`;
