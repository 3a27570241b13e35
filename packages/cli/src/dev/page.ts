/**
 * The live page: each request as it goes through the gate, and the switch for faults.
 *
 * Only this machine sees it: requests of other hosts' pages, and of names that resolve to this machine, are refused.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type DevFault, FAULT_TEXTS, FAULTS, type FaultSwitch } from "./faults.js";
import type { Journal } from "./journal.js";

const STYLE = `
:root{color-scheme:light dark;--line:#8884;--ok:#1a7f37;--bad:#cf222e;--run:#0969da;--wait:#9a6700}
@media (prefers-color-scheme:dark){:root{--ok:#3fb950;--bad:#f85149;--run:#58a6ff;--wait:#d29922}}
*{box-sizing:border-box}body{margin:0;font:15px/1.5 system-ui,sans-serif}
header{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;align-items:center;padding:.75rem 1rem;border-block-end:1px solid var(--line)}
h1{font-size:1.1rem;margin:0}fieldset{border:0;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem .75rem}
legend{float:inline-start;margin-inline-end:.75rem;padding:0;font-weight:600}
main{padding:0 1rem}ol{list-style:none;margin:0;padding:0}
li{padding:.6rem 0;border-block-end:1px solid var(--line);display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline}
code{font:600 .95em ui-monospace,monospace;overflow-wrap:anywhere}
.steps{display:flex;flex-wrap:wrap;gap:.25rem .4rem}.step{border:1px solid var(--line);border-radius:1rem;padding:0 .6rem;font-size:.9em}
.ok{color:var(--ok)}.bad{color:var(--bad)}.run{color:var(--run)}.wait{color:var(--wait)}
#state{margin-inline-start:auto}.empty{color:GrayText;padding:1rem 0}`;

const SCRIPT = `
const list = document.querySelector("ol"), state = document.querySelector("#state"), empty = document.querySelector(".empty");
const rows = new Map();
const span = (text, name) => { const each = document.createElement("span"); each.textContent = text; each.className = name; return each; };
const colorOf = ({ name, tookMs, detail }) => tookMs === undefined ? "wait" : name === "fault" ? "bad" : detail !== "" ? "bad" : name === "run" ? "run" : "ok";
function show(entry) {
  empty.hidden = true;
  const row = rows.get(entry.id) ?? document.createElement("li");
  if (!rows.has(entry.id)) { rows.set(entry.id, row); list.prepend(row); }
  while (rows.size > 200) { const [oldest] = rows.keys(); rows.get(oldest).remove(); rows.delete(oldest); }
  const what = document.createElement("code");
  what.textContent = entry.method + " " + entry.path;
  const steps = span("", "steps");
  for (const step of entry.steps) {
    const time = step.tookMs === undefined ? " …" : step.tookMs === 0 ? "" : " " + step.tookMs + " ms";
    steps.append(span(step.name + time + (step.detail === "" ? "" : ": " + step.detail), "step " + colorOf(step)));
  }
  const status = entry.status === undefined ? "…" : String(entry.status);
  row.replaceChildren(what, span(status, entry.status >= 500 ? "bad" : entry.status === 402 ? "wait" : "ok"), steps);
}
const events = new EventSource("/events");
events.addEventListener("open", () => { state.textContent = "live"; state.className = "ok"; });
events.addEventListener("error", () => { state.textContent = "farebox dev has ended"; state.className = "bad"; });
events.addEventListener("entry", ({ data }) => show(JSON.parse(data)));
events.addEventListener("fault", ({ data }) => { const input = document.querySelector('input[value="' + JSON.parse(data) + '"]'); if (input) input.checked = true; });
document.querySelector("fieldset").addEventListener("change", ({ target }) => {
  fetch("/fault", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(target.value) });
});`;

const HASHES = [STYLE, SCRIPT].map((text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`);

/** Headers of every response. */
const HEADERS = {
  "content-security-policy": `default-src 'none'; style-src ${HASHES[0]}; script-src ${HASHES[1]}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

const CHOICES = FAULTS.map(
  (fault) =>
    `<label><input type="radio" name="fault" value="${fault}"${fault === "none" ? " checked" : ""}> ${FAULT_TEXTS[fault]}</label>`,
).join("");

const HTML = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>farebox dev</title><style>${STYLE}</style></head><body><header><h1>farebox dev</h1>
<fieldset><legend>The facilitator</legend>${CHOICES}</fieldset><span id="state" role="status">connecting</span></header>
<main><p class="empty">No request yet.</p><ol aria-live="polite"></ol></main><script>${SCRIPT}</script></body></html>`;

/** Creates the server of the page. */
export function createPage(journal: Journal, faults: FaultSwitch): Server {
  const streams = new Set<ServerResponse>();
  const send = (res: ServerResponse, event: string, data: unknown) =>
    res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  journal.listen((entry) => {
    for (const res of streams) send(res, "entry", entry);
  });
  return createServer((req, res) => {
    for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value);
    const { method, url } = req;
    if (!isOwn(req)) res.writeHead(403).end();
    else if (method === "GET" && url === "/") res.setHeader("content-type", "text/html; charset=utf-8").end(HTML);
    else if (method === "GET" && url === "/events") {
      res.writeHead(200, { "content-type": "text/event-stream" });
      streams.add(res);
      res.on("close", () => streams.delete(res));
      send(res, "fault", faults.fault);
      for (const entry of journal.entries) send(res, "entry", entry);
    } else if (method === "POST" && url === "/fault") {
      readFault(req).then((fault) => {
        if (fault !== undefined) faults.set(fault);
        for (const each of streams) send(each, "fault", faults.fault);
        res.writeHead(fault === undefined ? 400 : 204).end();
      });
    } else res.writeHead(404).end();
  });
}

/** Whether a request is of this page, or of a program on this machine. */
function isOwn({ headers, socket }: IncomingMessage): boolean {
  const host = headers.host?.replace(/:\d+$/, "");
  const isLocal = host === "127.0.0.1" || host === "localhost";
  const { origin } = headers;
  return isLocal && (origin === undefined || origin === `http://${host}:${socket.localPort}`);
}

const MAX_BODY = 100;

/** `undefined`: it is none. */
async function readFault(req: IncomingMessage): Promise<DevFault | undefined> {
  let body = "";
  try {
    for await (const chunk of req.setEncoding("utf8")) {
      body += chunk;
      if (body.length > MAX_BODY) return undefined;
    }
    const value: unknown = JSON.parse(body);
    return FAULTS.find((fault) => fault === value);
  } catch {
    return undefined;
  }
}
