/**
 * A quick look for gross regressions. It is no measurement: it fails only when a case takes far more of the processor than it
 * should, beside bare Express in the same minute.
 *
 * Usage: `npx -y pnpm@10 bench:smoke`, which runs it on Node 24. Performance is judged there.
 *
 * @module
 */
import type { Effort } from "./cases/effort.js";
import { measureFareboxToBare, THROUGHPUT_CASES } from "./cases/throughput.js";

const EFFORT: Effort = { generations: 1, rounds: 3, seconds: 1, warmUpSeconds: 3, requests: 0, note: () => {} };

/** Requests per second of the processor, to bare Express: at most half of what a quiet machine shows. A busy one shows less. */
const LEAST: Readonly<Record<string, number>> = {
  "402, one offer": 0.5,
  "paid, facilitator in the process": 0.11,
  "free, 1,000 keys": 0.5,
};

for (const what of THROUGHPUT_CASES.filter(({ title }) => title in LEAST)) {
  const { title } = what;
  const fareboxToBare = await measureFareboxToBare(what, EFFORT);
  const least = LEAST[title] ?? 0;
  const isFine = fareboxToBare >= least;
  process.stdout.write(
    `${title}: ${fareboxToBare.toFixed(2)} of bare Express, at least ${least}: ${isFine ? "ok" : "TOO SLOW"}\n`,
  );
  if (!isFine) process.exitCode = 1;
}
