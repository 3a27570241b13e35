/**
 * The differences between the reference and `@farebox/express/compat` that are meant. Each has a heading in
 * `docs/reference/compat-differences.md`; a difference that none of them explains is a bug.
 *
 * @module
 */
import { ABSENT, type Difference, type Observation } from "./compare.js";
import type { Plan } from "./plan.js";

/** A difference that is meant. */
export interface Meant {
  /** The heading that tells it. */
  readonly heading: string;
  /** Whether it explains a difference, which is found in this exchange. */
  readonly explains: (difference: Difference, reference: Observation, compat: Observation, plan?: Plan) => boolean;
}

/** All of them. */
export const MEANT: readonly Meant[] = [
  {
    heading: "Body of the 402",
    explains: ({ path }, reference, compat) =>
      path.startsWith("body") && reference.status === 402 && compat.status === 402 && isEmpty(reference.body),
  },
  {
    heading: "Fields of an offer",
    explains: ({ path, reference }) =>
      reference === ABSENT &&
      /^challenge\.accepts\.\d+\.(maxAmountRequired|resource|description|mimeType|outputSchema)$/.test(path),
  },
  {
    heading: "payment-identifier",
    explains: ({ path, reference }) =>
      reference === ABSENT && /^challenge\.extensions(\.payment-identifier)?$/.test(path),
  },
  {
    heading: "Exposed headers",
    explains: ({ path, reference }) => reference === ABSENT && path === "headers.access-control-expose-headers",
  },
  { heading: "ETag", explains: ({ path, compat }) => path === "headers.etag" && compat === ABSENT },
];

/** The heading that explains a difference. */
export function headingOf(
  difference: Difference,
  reference: Observation,
  compat: Observation,
  plan?: Plan,
): string | undefined {
  return MEANT.find(({ explains }) => explains(difference, reference, compat, plan))?.heading;
}

/** Whether a difference between two lists of observations has no explanation. */
export function unexplained(
  { path, ...values }: Difference,
  reference: readonly Observation[],
  compat: readonly Observation[],
): boolean {
  const [, at = "", rest = ""] = /^(\d+)\.(.*)$/.exec(path) ?? [];
  const [theirs, ours] = [reference[Number(at)], compat[Number(at)]];
  return theirs === undefined || ours === undefined || headingOf({ path: rest, ...values }, theirs, ours) === undefined;
}

function isEmpty(body: unknown): boolean {
  return JSON.stringify(body) === "{}";
}
