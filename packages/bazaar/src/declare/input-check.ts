/**
 * Checks what goes into a request by what is declared of it.
 *
 * @module
 */
import { type CompiledDeclaration, type InputProblem, type RequestInput, StateError } from "@farebox/core";
import type { JsonSchema } from "../declaration.js";
import type { Draft, InputSchemas } from "./draft.js";
import { compileSchema, type Reading, type SchemaCheck } from "./json-schema.js";

/** The checking side of a declaration; nothing where it says nothing to check by. */
export function createInputCheck(drafts: readonly Draft[]): Pick<CompiledDeclaration, "checkInput" | "bodyType"> {
  const byMethod = new Map<string, Checks>();
  for (const { methods = [], checks } of drafts) {
    const compiled = createChecks(checks);
    for (const method of methods) byMethod.set(method, compiled);
  }
  if (byMethod.size === 0) return {};
  return {
    checkInput: (input) => byMethod.get(input.method)?.problemsOf(input) ?? [],
    bodyType: (method) => byMethod.get(method)?.bodyType,
  };
}

interface Checks extends Pick<InputSchemas, "bodyType"> {
  problemsOf(input: RequestInput): readonly InputProblem[];
}

function createChecks({ query, body, path, bodyType }: InputSchemas): Checks {
  // Fields of a form are text, too.
  const ofBody = later(body, bodyType === "form-data" ? "text" : "json");
  const [ofQuery, ofPath] = [later(query, "text"), later(path, "text")];
  return {
    bodyType,
    problemsOf: (input) => [
      ...problems("query", ofQuery, () => readQuery(input.search)),
      ...problems("path", ofPath, () => ({ ...input.pathParams })),
      ...problems("body", ofBody, () => (bodyType === "form-data" ? copy(input.body) : input.body)),
    ],
  };
}

/** Compiled when it is first needed: few routes check requests. That it compiles is known by then. */
function later(schema: JsonSchema | undefined, reading: Reading): () => SchemaCheck | undefined {
  let check: SchemaCheck | undefined;
  return () => {
    if (schema === undefined || check !== undefined) return check;
    const compiled = compileSchema(schema, reading);
    // Nothing unchecked is let through.
    if (!compiled.ok) throw new StateError(`input schema: ${compiled.problem}`);
    check = compiled.check;
    return check;
  };
}

function problems(
  part: InputProblem["in"],
  checkOf: () => SchemaCheck | undefined,
  read: () => unknown,
): readonly InputProblem[] {
  return checkOf()?.(read()).map((problem) => ({ in: part, ...problem })) ?? [];
}

/** Text stands for numbers and the like once it is read as such, which changes what is read. */
function copy(body: unknown): unknown {
  return typeof body === "object" && body !== null ? { ...body } : body;
}

/** A name that comes more than once is a list. */
function readQuery(search: string): Readonly<Record<string, unknown>> {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(search)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}
