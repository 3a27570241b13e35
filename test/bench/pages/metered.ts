/**
 * The page metered-benchmarks.md of docs/background: what it costs to meter a stream.
 *
 * @module
 */
import type { MeteredFigures, StreamFigures } from "../cases/metered.js";
import type { Machine } from "../machine.js";
import { count, machineLines, ms, ratio, table } from "./markdown.js";

/** Everything. */
export interface MeasuredMetered extends MeteredFigures {
  readonly machine: Machine;
}

/** What the first byte takes longer than that of a free stream, at most. */
const MOST_ADDED_MS = 5;
/** What of a free stream's events arrive a second. */
const LEAST_RATIO = 0.95;

/** Writes the document. */
export function renderMeteredBenchmarks({ machine, firstByteMs, streams }: MeasuredMetered): string {
  const added = firstByteMs.metered - firstByteMs.free;
  const paced = streams.filter(({ rate }) => rate !== undefined);
  return [
    "# Benchmarks of metered streams",
    "",
    'One command measures streams with [`settle: "metered"`](../guides/metered.md) beside the same streams for nothing, and writes this page:',
    "",
    "```sh",
    "npx -y pnpm@10 bench:metered",
    "```",
    "",
    "A stream is server-sent events of 52 bytes, one `res.write` each. The metered one is charged one atomic unit before each event, and",
    "its receipt has to name the exact sum. The free one is on bare Express, with the same handler. The two take turns. Store and",
    "facilitator are in the seller's process, and the facilitator accepts everything. Numbers are medians.",
    "",
    ...machineLines(machine),
    "",
    "## Targets",
    "",
    ...table(
      ["target", "wanted", "measured", ""],
      [
        [
          "first byte, added to a free stream's",
          `≤ ${MOST_ADDED_MS} ms`,
          `${ms(added)} ms`,
          verdict(added <= MOST_ADDED_MS),
        ],
        ...paced.map((row) => [
          `${titleOf(row)}: events that arrive, to free`,
          `≥ ${LEAST_RATIO}`,
          ratio(row.ratio),
          verdict(row.ratio >= LEAST_RATIO),
        ]),
      ],
    ),
    "",
    "## First byte",
    "",
    "Milliseconds from the request to the first byte of the body, one stream at a time. That of a metered stream waits for the payment:",
    "it is read, claimed and verified.",
    "",
    ...table(["free", "metered"], [[ms(firstByteMs.free), ms(firstByteMs.metered)]]),
    "",
    "## Events",
    "",
    "*A second* is what the client has of all streams, from the first request to the last receipt. *Processor* is that of the seller's",
    "process, for one event, with its part of the payment. Where the rate has no limit, a handler writes until its client has to read.",
    "",
    ...table(
      ["", "a second, free", "metered", "to free", "processor, free", "metered"],
      streams.map((row) => [
        titleOf(row),
        count(row.perSecond.free),
        count(row.perSecond.metered),
        ratio(row.ratio),
        `${row.processorUs.free.toFixed(1)} µs`,
        `${row.processorUs.metered.toFixed(1)} µs`,
      ]),
    ),
    "",
  ].join("\n");
}

function titleOf({ streams, rate }: StreamFigures): string {
  const which = streams === 1 ? "one stream" : `${streams} streams`;
  return rate === undefined ? `${which}, no limit` : `${which}, ${count(rate)} charges a second in all`;
}

const verdict = (isMet: boolean): string => (isMet ? "met" : "**missed**");
