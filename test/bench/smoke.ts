/**
 * A quick look for what has become grossly slower. It is no measurement: it fails only when a case takes far more of the
 * processor, beside bare Express in the same minute, than it ever should.
 *
 * Usage: `npx -y pnpm@10 bench:smoke`.
 *
 * @module
 */
import type { Effort } from "./cases/effort.js";
import { measureThroughput, THROUGHPUT_CASES } from "./cases/throughput.js";

const EFFORT: Effort = { generations: 1, rounds: 3, seconds: 1, warmUpSeconds: 3, requests: 0, note: () => {} };

/** To bare Express: about half of what is measured, or less. */
const LEAST: Readonly<Record<string, number>> = {
  "402, one offer": 1.4,
  "paid, facilitator in the process": 0.45,
  "free, 1,000 keys": 1.3,
};

for (const what of THROUGHPUT_CASES.filter(({ title }) => title in LEAST)) {
  const { title, fareboxToBare } = await measureThroughput(what, EFFORT);
  const least = LEAST[title] ?? 0;
  const isFine = fareboxToBare >= least;
  process.stdout.write(
    `${title}: ${fareboxToBare.toFixed(2)} of bare Express, at least ${least}: ${isFine ? "ok" : "TOO SLOW"}\n`,
  );
  if (!isFine) process.exitCode = 1;
}
