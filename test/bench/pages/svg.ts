/**
 * Charts in SVG, readable on light and dark pages.
 *
 * @module
 */

/** A chart of bars: one group below another, each with a bar for each series. */
export interface Bars {
  readonly title: string;
  readonly description: string;
  readonly series: readonly string[];
  /** A value may be missing. */
  readonly groups: readonly { readonly label: string; readonly values: readonly (number | undefined)[] }[];
}

/** A chart of lines: one panel below another. */
export interface Lines {
  readonly title: string;
  readonly description: string;
  readonly panels: readonly Panel[];
}

/** Both axes have powers of ten, where `isLogarithmic` says so for x; y always has. */
export interface Panel {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly isLogarithmic?: boolean;
  readonly series: readonly { readonly name: string; readonly points: readonly Point[] }[];
}

/** `y` is above zero, and so is `x` on an axis with powers of ten. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

const WIDTH = 720;
const STYLE = `svg{--paper:#fff;--ink:#1f2328;--rule:#c8d0d8;--s0:#0072b2;--s1:#d55e00;--s2:#00805f;--s3:#7a7f87}
@media(prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--rule:#3d444d;--s0:#58b0ee;--s1:#f0883e;--s2:#3fc79a;--s3:#9198a1}}
.paper{fill:var(--paper)}text{font:11px system-ui,sans-serif;fill:var(--ink)}.title{font-weight:600;font-size:13px}.end{text-anchor:end}
.middle{text-anchor:middle}.rule{stroke:var(--rule)}.line{fill:none;stroke-width:1.6}`;
/** Lines differ in more than their color. */
const DASHES = ["", "6 3", "2 2", "8 2 2 2"];

const BAR = { left: 300, right: 60, top: 56, height: 10, gap: 10 };

/** Draws bars. A line stands where a value is 1. */
export function drawBars({ title, description, series, groups }: Bars): string {
  const most = Math.max(1, ...groups.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const x = (value: number) => round(BAR.left + (value / most) * (WIDTH - BAR.left - BAR.right));
  const groupHeight = series.length * BAR.height + BAR.gap;
  const bottom = BAR.top + groups.length * groupHeight;
  const bars = groups.flatMap(({ label, values }, at) => {
    const top = BAR.top + at * groupHeight;
    const middle = top + (series.length * BAR.height) / 2 + 4;
    return [
      text(BAR.left - 8, middle, label, "end"),
      ...values.flatMap((value, of) => {
        if (value === undefined) return [];
        const y = top + of * BAR.height;
        const width = round(x(value) - BAR.left);
        return [
          `<rect x="${BAR.left}" y="${y}" width="${width}" height="${BAR.height - 1}" fill="var(--s${of})"/>`,
          text(x(value) + 4, y + BAR.height - 1, value.toFixed(2)),
        ];
      }),
    ];
  });
  const one = `<line class="rule" x1="${x(1)}" x2="${x(1)}" y1="${BAR.top - 4}" y2="${bottom}"/>`;
  return draw({ title, description, height: bottom + 6 }, [...legend(series, 40, "bars"), one, ...bars]);
}

const PANEL = { left: 64, right: 36, top: 30, plot: 150, height: 246 };

/** Draws lines. */
export function drawLines({ title, description, panels }: Lines): string {
  const drawn = panels.flatMap((panel, at) => drawPanel(panel, PANEL.top + at * PANEL.height));
  return draw({ title, description, height: PANEL.top + panels.length * PANEL.height }, drawn);
}

function drawPanel(panel: Panel, top: number): string[] {
  const points = panel.series.flatMap((one) => one.points);
  const plot = { top: top + 44, bottom: top + 44 + PANEL.plot, left: PANEL.left, right: WIDTH - PANEL.right };
  const y = scaleOf(
    points.map((point) => point.y),
    { from: plot.bottom, to: plot.top, isLogarithmic: true },
  );
  const { isLogarithmic = false } = panel;
  const x = scaleOf(
    points.map((point) => point.x),
    { from: plot.left, to: plot.right, isLogarithmic },
  );
  const path = (all: readonly Point[]) =>
    all.map((point, at) => `${at === 0 ? "M" : "L"}${x.at(point.x)} ${y.at(point.y)}`).join("");
  return [
    text(PANEL.left, top + 14, `${panel.title}, ${panel.yLabel}`),
    ...legend(
      panel.series.map(({ name }) => name),
      top + 32,
      "lines",
    ),
    ...y.ticks.flatMap((tick) => [
      `<line class="rule" x1="${plot.left}" x2="${plot.right}" y1="${y.at(tick)}" y2="${y.at(tick)}"/>`,
      text(plot.left - 6, y.at(tick) + 4, tick.toLocaleString("en"), "end"),
    ]),
    ...x.ticks.map((tick) => text(x.at(tick), plot.bottom + 16, tick.toLocaleString("en"), "middle")),
    text(plot.right, plot.bottom + 30, panel.xLabel, "end"),
    ...panel.series.flatMap(({ points: all }, at) => [
      `<path class="line" d="${path(all)}" stroke="var(--s${at})" stroke-dasharray="${DASHES[at]}"/>`,
      ...(all.length > MOST_DOTS
        ? []
        : all.map((point) => `<circle cx="${x.at(point.x)}" cy="${y.at(point.y)}" r="3" fill="var(--s${at})"/>`)),
    ]),
  ];
}

/** With more points, the line says it all. */
const MOST_DOTS = 10;
const LINEAR_TICKS = 6;

interface Axis {
  readonly from: number;
  readonly to: number;
  readonly isLogarithmic: boolean;
}

function scaleOf(values: readonly number[], { from, to, isLogarithmic }: Axis) {
  const along = (share: number) => round(from + share * (to - from));
  if (!isLogarithmic) {
    const most = Math.max(...values);
    const ticks = Array.from({ length: LINEAR_TICKS + 1 }, (_, at) => Math.round((most * at) / LINEAR_TICKS));
    return { at: (value: number) => along(value / most), ticks: [...new Set(ticks)] };
  }
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const ticks = Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
  return { at: (value: number) => along((Math.log10(value) - low) / (high - low)), ticks };
}

function legend(series: readonly string[], y: number, kind: "bars" | "lines"): string[] {
  return series.flatMap((name, at) => {
    const x = PANEL.left + at * 160;
    const dashes = kind === "lines" ? ` stroke-dasharray="${DASHES[at]}"` : "";
    return [
      `<path class="line" d="M${x} ${y - 4}h22" stroke="var(--s${at})" stroke-width="3"${dashes}/>`,
      text(x + 28, y, name),
    ];
  });
}

function draw(
  { title, description, height }: { readonly title: string; readonly description: string; readonly height: number },
  parts: readonly string[],
): string {
  const box = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" ${box} role="img" aria-labelledby="title description">`,
    `<title id="title">${escapeText(title)}</title>`,
    `<desc id="description">${escapeText(description)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="6"/>`,
    text(16, 20, title, "title"),
    ...parts,
    "</svg>",
  ].join("\n")}\n`;
}

function text(x: number, y: number, content: string, className?: string): string {
  return `<text x="${x}" y="${y}"${className === undefined ? "" : ` class="${className}"`}>${escapeText(content)}</text>`;
}

function escapeText(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
