/**
 * Checks whether data matches a schema, both untrusted, within a bounded number of steps.
 *
 * The schema is walked and not compiled: compiling a few kilobytes can take a quarter of a second, and anyone who sends
 * payments could request that again and again. Patterns are not run, because a pattern may take exponential time. Where a
 * pattern would decide, the verdict is `unknown`, which counts as a match. All other verdicts are those of a compiler (JSON
 * Schema Draft 2020-12).
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { type Evaluation, type Instance, KEYWORDS, type SchemaEvaluation, type Verdict } from "./schema-keywords.js";

/** A usual declaration takes some hundred steps. */
const MAX_STEPS = 5_000;
const MAX_DEPTH = 64;

/** Describes the first mismatch in one sentence; `undefined` for a match and for an unknown verdict. Never throws. */
export function problemOfInstance(schema: JsonObject, value: unknown, name: string): string | undefined {
  const state: State = { steps: 0, depth: 0, quiet: 0, problem: undefined, trouble: undefined };
  const verdict = createEvaluation(schema, state).check(schema, { value, path: name });
  if (state.trouble !== undefined) return state.trouble;
  return verdict === "invalid" ? (state.problem ?? `${name} does not match the schema`) : undefined;
}

interface State {
  steps: number;
  depth: number;
  /** Above zero while a schema is tried that need not match. */
  quiet: number;
  problem: string | undefined;
  /** Why the schema cannot be evaluated at all. */
  trouble: string | undefined;
}

function createEvaluation(root: JsonObject, state: State): Evaluation {
  const evaluation: Evaluation = {
    check(schema, instance) {
      if (schema === true) return "valid";
      if (schema === false) return evaluation.fail(instance, "must not be there");
      if (!isJsonObject(schema)) return evaluation.malformed("subschema");
      if (!mayGoOn(state)) return "invalid";
      state.depth += 1;
      const verdict = checkKeywords({ ...evaluation, schema }, instance, state);
      state.depth -= 1;
      return verdict;
    },
    try(schema, instance) {
      state.quiet += 1;
      const verdict = evaluation.check(schema, instance);
      state.quiet -= 1;
      return verdict;
    },
    resolve: (reference) => resolvePointer(root, reference),
    fail({ path }, text) {
      if (state.quiet === 0) state.problem ??= `${path} ${text}`;
      return "invalid";
    },
    malformed(keyword) {
      state.trouble ??= `the schema is not a JSON Schema: its ${keyword} has an invalid value`;
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

function checkKeywords(evaluation: SchemaEvaluation, instance: Instance, state: State): Verdict {
  const verdicts: Verdict[] = [];
  for (const [keyword, argument] of Object.entries(evaluation.schema)) {
    const keywordCheck = KEYWORDS.get(keyword);
    if (keywordCheck === undefined) continue;
    state.steps += 1 + effortFor(argument) + effortFor(instance.value);
    const verdict = keywordCheck(argument, instance, evaluation);
    if (verdict === "invalid") return "invalid";
    verdicts.push(verdict);
  }
  return verdicts.includes("unknown") ? "unknown" : "valid";
}

/** Long texts and lists count as several steps, because each check reads them from end to end. */
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
