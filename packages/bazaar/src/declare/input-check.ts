/**
 * Checks the input of a request against its declaration.
 *
 * @module
 */
import { type CompiledDeclaration, type InputProblem, type RequestInput, StateError } from "@farebox/core";
import type { JsonSchema } from "../declaration.js";
import type { Draft, InputSchemas } from "./draft.js";
import { compileSchema, type SchemaCheck, type ValueForm } from "./json-schema.js";

/** Creates the checks of a declaration; none for an MCP tool. */
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
  // The fields of a form are texts.
  const ofBody = compileLater(body, bodyType === "form-data" ? "text" : "json");
  const [ofQuery, ofPath] = [compileLater(query, "text"), compileLater(path, "text")];
  return {
    bodyType,
    problemsOf: (input) => [
      ...problems("query", ofQuery, () => readQuery(input.search)),
      ...problems("path", ofPath, () => ({ ...input.pathParams })),
      ...problems("body", ofBody, () => (bodyType === "form-data" ? copy(input.body) : input.body)),
    ],
  };
}

/** Compiles a schema on first use, because few routes check requests. Reading the form has shown that it compiles. */
function compileLater(schema: JsonSchema | undefined, form: ValueForm): () => SchemaCheck | undefined {
  let check: SchemaCheck | undefined;
  return () => {
    if (schema === undefined || check !== undefined) return check;
    const compiled = compileSchema(schema, form);
    // Fail closed: no request passes unchecked.
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

/** A check of texts converts them in place; the handler gets the original body. */
function copy(body: unknown): unknown {
  return typeof body === "object" && body !== null ? { ...body } : body;
}

/** A repeated parameter becomes a list. */
function readQuery(search: string): Readonly<Record<string, unknown>> {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(search)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}
