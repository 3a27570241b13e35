/**
 * Specificity: which of two paths that match the same request is meant.
 *
 * @module
 */
import type { Token } from "path-to-regexp";

/** Sorts after every segment: of two paths that agree so far, the one that goes on is the more specific. */
const END = "4";

/**
 * A text by which paths sort, the more specific first. It has a digit for each segment, from the left: 0 for a text, 1
 * for a text with parameters in it, 2 for a parameter, 3 for a wildcard. So `/users/:id` (`02`) comes before `/:any/list`
 * (`20`) and both before `/*rest` (`3`). Of a path with optional parts the least specific form counts first. With text after
 * a wildcard, or a wildcard among optional parts, the order is one of several that would do.
 */
export function specificityOf(tokens: readonly Token[]): string {
  const forms = formsOf(tokens).map((form) => form.split("/").slice(1).map(rank).join("") + END);
  return forms.sort().reverse().join(" ");
}

/** Every form of a path, sketched: `/a{/:b}` is `/-` and `/-/:`. path-to-regexp allows 256 of them. */
function formsOf(tokens: readonly Token[]): readonly string[] {
  return tokens.reduce<readonly string[]>(
    (forms, token) => forms.flatMap((form) => partsOf(token).map((part) => form + part)),
    [""],
  );
}

function partsOf(token: Token): readonly string[] {
  switch (token.type) {
    case "text":
      return [token.value.replace(/[^/]/g, "-")];
    case "param":
      return [":"];
    case "wildcard":
      return ["*"];
    case "group":
      return ["", ...formsOf(token.tokens)];
    default:
      return token satisfies never;
  }
}

function rank(segment: string): string {
  if (segment.includes("*")) return "3";
  if (segment === ":") return "2";
  return segment.includes(":") ? "1" : "0";
}
