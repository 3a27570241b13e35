/**
 * The differences between the reference and `@farebox/express/compat` that are meant. Each has a heading in
 * `docs/reference/compat-differences.md`; a difference that none of them explains is a bug.
 *
 * @module
 */
import { ABSENT, compare, type Difference, type Observation } from "./compare.js";
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

/** The differences between two lists of observations that have no explanation, one line each. */
export function unexplained(reference: readonly Observation[], compat: readonly Observation[]): readonly string[] {
  return reference.flatMap((theirs, at) => {
    const ours = compat[at];
    if (ours === undefined) return [`${at}: only the reference was asked`];
    const found = compare(theirs, ours).filter((each) => headingOf(each, theirs, ours) === undefined);
    return found.map((each) => `${at}: ${tell(each)}`);
  });
}

/** `challenge.error: "a" with the reference, "b" here`. */
export function tell({ path, reference, compat }: Difference): string {
  return `${path}: ${JSON.stringify(reference)} with the reference, ${JSON.stringify(compat)} here`;
}

function isEmpty(body: unknown): boolean {
  return JSON.stringify(body) === "{}";
}
