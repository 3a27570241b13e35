/**
 * Makes elements. Texts become text nodes, so nothing that a seller, a client or a wallet writes is read as markup.
 *
 * @module
 */

type Attributes = Readonly<Record<string, string | boolean | undefined | (() => unknown)>>;
type Child = Node | string | undefined;

/** Makes an element: `el("button", { type: "button", onclick: pay }, "Pay")`. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (typeof value === "string") element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** A disk with a letter or two, in a color that depends on the name: our own drawing of a network or of a wallet without an icon. */
export function disk(name: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 28 28");
  svg.setAttribute("aria-hidden", "true");
  const hue = [...name].reduce((sum, letter) => (sum * 7 + 53 * (letter.codePointAt(0) ?? 0)) % 360, 7);
  const circle = document.createElementNS(SVG, "circle");
  const text = document.createElementNS(SVG, "text");
  for (const [key, value] of Object.entries({ cx: "14", cy: "14", r: "14", fill: `hsl(${hue} 55% 36%)` })) {
    circle.setAttribute(key, value);
  }
  for (const [key, value] of Object.entries({
    x: "14",
    y: "18.5",
    "text-anchor": "middle",
    "font-size": "13",
    "font-weight": "700",
    fill: "#fff",
  })) {
    text.setAttribute(key, value);
  }
  text.textContent = [...name.trim()][0]?.toUpperCase() ?? "?";
  svg.append(circle, text);
  return svg;
}

/** Fills in `{name}`. */
export function fill(text: string | undefined, values: Readonly<Record<string, string>> = {}): string {
  return (text ?? "").replace(/\{(\w+)\}/g, (hole, name: string) => values[name] ?? hole);
}

/** An address at a glance: its ends. */
export function shorten(address: string): string {
  return address.length <= 14 ? address : `${address.slice(0, 6)}\u2026${address.slice(-6)}`;
}
