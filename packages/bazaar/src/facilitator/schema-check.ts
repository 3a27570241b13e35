/**
 * Whether a stranger's data fits a stranger's schema, decided within a bounded number of steps.
 *
 * The schema is walked, not compiled: a compiler turns a few kilobytes into code for a quarter of a second, and whoever
 * sends a payment to be verified could ask for that again and again. Patterns are not run, since any of them may take for
 * ever; where one would decide, the answer is `unknown`, and an unknown answer counts for the seller. Agrees with a
 * compiler on everything else (JSON Schema Draft 2020-12).
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import type { Evaluation, Place, SchemaEvaluation, Verdict } from "./schema-evaluation.js";
import { KEYWORDS } from "./schema-keywords.js";

/** A declaration takes some hundred. */
const MAX_STEPS = 5_000;
const MAX_DEPTH = 64;

/** Says why data does not fit its schema, in one sentence; `undefined` when it does, or when nobody can say. Total. */
export function problemOfInstance(schema: JsonObject, value: unknown, name: string): string | undefined {
  const state: State = { steps: 0, depth: 0, quiet: 0, problem: undefined, trouble: undefined };
  const verdict = createEvaluation(schema, state).check(schema, { value, path: name });
  if (state.trouble !== undefined) return state.trouble;
  return verdict === "invalid" ? (state.problem ?? `${name} does not fit the schema`) : undefined;
}

interface State {
  steps: number;
  depth: number;
  /** Above zero while a schema is tried that need not hold. */
  quiet: number;
  problem: string | undefined;
  /** Why the schema cannot be evaluated at all. */
  trouble: string | undefined;
}

function createEvaluation(root: JsonObject, state: State): Evaluation {
  const evaluation: Evaluation = {
    check(schema, place) {
      if (schema === true) return "valid";
      if (schema === false) return evaluation.fail(place, "must not be there");
      if (!isJsonObject(schema)) return evaluation.malformed("subschema");
      if (!mayGoOn(state)) return "invalid";
      state.depth += 1;
      const verdict = checkKeywords({ ...evaluation, schema }, place, state);
      state.depth -= 1;
      return verdict;
    },
    try(schema, place) {
      state.quiet += 1;
      const verdict = evaluation.check(schema, place);
      state.quiet -= 1;
      return verdict;
    },
    resolve: (reference) => resolvePointer(root, reference),
    fail({ path }, text) {
      if (state.quiet === 0) state.problem ??= `${path} ${text}`;
      return "invalid";
    },
    malformed(keyword) {
      state.trouble ??= `the schema is no JSON Schema: its ${keyword} has a value that cannot be`;
      return "invalid";
    },
  };
  return evaluation;
}

function mayGoOn(state: State): boolean {
  state.steps += 1;
  if (state.steps > MAX_STEPS || state.depth >= MAX_DEPTH) state.trouble ??= "the schema takes too much work to check";
  return state.trouble === undefined;
}

function checkKeywords(evaluation: SchemaEvaluation, place: Place, state: State): Verdict {
  const verdicts: Verdict[] = [];
  for (const [keyword, argument] of Object.entries(evaluation.schema)) {
    const keywordCheck = KEYWORDS.get(keyword);
    if (keywordCheck === undefined) continue;
    state.steps += 1 + effortFor(argument) + effortFor(place.value);
    const verdict = keywordCheck(argument, place, evaluation);
    if (verdict === "invalid") return "invalid";
    verdicts.push(verdict);
  }
  return verdicts.includes("unknown") ? "unknown" : "valid";
}

/** Long texts and lists are gone through from end to end, however often a schema refers to them. */
function effortFor(value: unknown): number {
  if (typeof value === "string") return value.length >> 7;
  return Array.isArray(value) ? value.length >> 3 : 0;
}

/** JSON Pointer in a fragment: `#/$defs/city`. */
function resolvePointer(root: JsonObject, reference: string): unknown {
  let found: unknown = root;
  for (const part of reference.split("/").slice(1, 34)) {
    const key = decodePart(part);
    if (key === undefined || typeof found !== "object" || found === null || !Object.hasOwn(found, key))
      return undefined;
    found = (found as JsonObject)[key];
  }
  return found;
}

function decodePart(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
