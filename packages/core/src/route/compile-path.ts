/**
 * Compiles the path of a route key.
 *
 * @module
 */
import { compileForms, explainForms, type PathForm } from "./path-form.js";
import { parsePath } from "./path-syntax.js";

/** A compiled path, or what is wrong with it and where. */
export type CompiledPath =
  | { readonly ok: true; readonly forms: readonly PathForm[] }
  | { readonly ok: false; readonly expected: string; readonly at?: number };

/** Compiles a path. */
export function compilePath(path: string): CompiledPath {
  const parsed = parsePath(path);
  if (!parsed.ok) return parsed;
  if (path.endsWith("//")) {
    return { ok: false, expected: "a path that ends in at most one slash", at: path.length - 1 };
  }
  const tooFree = explainForms(parsed.tokens);
  if (tooFree !== undefined) return { ok: false, expected: tooFree };
  try {
    const forms = compileForms(parsed.tokens);
    return forms.length > 0 ? { ok: true, forms } : { ok: false, expected: 'a path that starts with "/"' };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(";")[0] : "unparsable";
    return { ok: false, expected: `a path as Express 5 writes it (${reason})` };
  }
}

/** Compiles a path that a seller has registered, once. Never for the path of a request: what is compiled is kept. */
export function compileRegistered(path: string): CompiledPath {
  const compiled = registered.get(path) ?? compilePath(path);
  registered.set(path, compiled);
  return compiled;
}

const registered = new Map<string, CompiledPath>();

/** Paths that a registered route gets, one for each of its forms; `undefined` when its path cannot be read. */
export function samplesOf(path: string): readonly string[] | undefined {
  const compiled = compileRegistered(path);
  return compiled.ok ? compiled.forms.map(({ sample }) => sample) : undefined;
}
