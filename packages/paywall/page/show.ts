/**
 * Shows a response that was paid for: HTML as a page, JSON and texts to read, images, sounds, films and PDF, anything else as a file.
 *
 * @module
 */
import { el, fill } from "./dom.js";
import { keepView, type View } from "./pending.js";

/** Text of this length or less is laid out; the rest is in the file. */
const MAX_TEXT = 500_000;

/** Shows a response in an element. HTML replaces the page. */
export async function show(
  response: Response,
  into: HTMLElement,
  { texts, view }: { readonly texts: Readonly<Record<string, string>>; readonly view: Omit<View, "html" | "policy"> },
): Promise<void> {
  const type = (response.headers.get("Content-Type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const isAttachment = /^\s*attachment/i.test(response.headers.get("Content-Disposition") ?? "");
  const name = nameOf(response);
  if (!isAttachment && (type === "text/html" || type === "application/xhtml+xml")) {
    const html = await response.text();
    const policy = response.headers.get("Content-Security-Policy");
    if (keepView({ ...view, html, policy })) return openView();
    // There is no room: a file is better than nothing.
    return offer(new Blob([html], { type }), name, into, texts);
  }
  if (!isAttachment && (/^text\//.test(type) || /[/+]json$/.test(type) || type === "application/x-ndjson")) {
    return showText(response, /[/+]json$/.test(type), into, texts);
  }
  const blob = await response.blob();
  if (blob.size === 0 && type === "") return;
  const element = isAttachment ? undefined : mediaOf(type, name);
  if (element === undefined) return offer(blob, name, into, texts, true);
  element.src = URL.createObjectURL(blob);
  into.append(element);
  offer(blob, name, into, texts);
}

function mediaOf(type: string, name: string): HTMLImageElement | HTMLMediaElement | HTMLIFrameElement | undefined {
  if (/^image\//.test(type)) return el("img", { alt: name });
  if (/^audio\//.test(type)) return el("audio", { controls: true });
  if (/^video\//.test(type)) return el("video", { controls: true });
  return type === "application/pdf" ? el("iframe", { title: name }) : undefined;
}

/** A stream is shown as it comes. */
async function showText(
  response: Response,
  isJson: boolean,
  into: HTMLElement,
  texts: Readonly<Record<string, string>>,
): Promise<void> {
  const pre = el("pre", { tabindex: "0" });
  into.append(pre);
  let text = "";
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) break;
    text += chunk.value;
    if (!isJson && text.length <= MAX_TEXT) pre.textContent = text;
  }
  pre.textContent = (isJson ? pretty(text) : text).slice(0, MAX_TEXT);
  const copy: HTMLButtonElement = el("button", {
    type: "button",
    class: "small",
    onclick: () =>
      navigator.clipboard?.writeText(text).then(() => {
        copy.textContent = texts["copied"] ?? "";
      }),
  });
  copy.textContent = texts["copy"] ?? "";
  if (navigator.clipboard !== undefined) into.append(copy);
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A file to keep. @param isOnly - It is saved at once, as there is nothing to look at. */
function offer(
  blob: Blob,
  name: string,
  into: HTMLElement,
  texts: Readonly<Record<string, string>>,
  isOnly = false,
): void {
  // The type would let the browser open the file in this origin.
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = el("a", { class: "button", href: url, download: name }, fill(texts["download"], { name }));
  if (isOnly) into.append(el("p", {}, fill(texts["downloaded"], { name })));
  into.append(link);
  if (isOnly) link.click();
}

/** The name of a file: what the server says, or the end of the path. */
function nameOf(response: Response): string {
  const header = response.headers.get("Content-Disposition") ?? "";
  const [, encoded] = /filename\*\s*=\s*(?:UTF-8)''([^;]+)/i.exec(header) ?? [];
  const [, quoted, plain] = /filename\s*=\s*(?:"([^"]*)"|([^;\s]+))/i.exec(header) ?? [];
  const last = new URL(response.url || location.href).pathname.split("/").pop();
  const name = (encoded === undefined ? undefined : decoded(encoded)) ?? quoted ?? plain ?? decoded(last ?? "") ?? "";
  // Neither a folder nor a character that misleads.
  return (
    Array.from(name.split(/[/\\]/).pop() ?? "")
      .filter((one) => !/[\p{Cc}\p{Cf}]/u.test(one))
      .join("")
      .slice(0, 100) || "download"
  );
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Goes to the viewer, in which the HTML stands as it would after a navigation. The cookie asks the server for it. */
export function openView(): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser
  document.cookie = "farebox-view=1; Path=/; Max-Age=20; SameSite=Strict";
  const isForm = document.documentElement.dataset["method"] === "POST";
  if (!isForm) {
    location.reload();
    return;
  }
  const form = el("form", { method: "post", action: location.href });
  document.body.append(form);
  form.submit();
}
