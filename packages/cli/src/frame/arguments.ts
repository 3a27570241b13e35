/**
 * Reads the arguments of a command by its options.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { nearestName } from "@farebox/core/internal";
import { wrongCall } from "./cli-error.js";
import type { Call, Command, OptionSpec, OptionSpecs } from "./command.js";

/** What the arguments of a call say. `help`: somebody asks how to call it. */
export type ParsedArguments =
  | { readonly kind: "help" }
  | ({ readonly kind: "call" } & Pick<Call, "options" | "args" | "rest">);

type OptionToken = Extract<ReturnType<typeof tokensOf>[number], { kind: "option" }>;

/** Reads arguments. @throws CliError if there is no such option, or if its value is none that it takes */
export function parseArguments(command: Command, argv: readonly string[]): ParsedArguments {
  const options: Record<string, boolean | string | string[] | undefined> = defaultsOf(command.options);
  const [args, rest]: [string[], string[]] = [[], []];
  let isBehindDashes = false;
  for (const token of tokensOf(command.options, argv)) {
    if (token.kind === "option-terminator") isBehindDashes = true;
    else if (token.kind === "positional") (isBehindDashes ? rest : args).push(token.value);
    else if (token.name === "help" || token.name === "h") return { kind: "help" };
    else {
      const spec = specOf(command, token);
      const value = readValue(token, spec);
      if (spec.multiple === true) (options[token.name] as string[]).push(value as string);
      else options[token.name] = value;
    }
  }
  return { kind: "call", options: options as Call["options"], args, rest };
}

function tokensOf(specs: OptionSpecs, argv: readonly string[]) {
  const types = Object.entries(specs).map(([name, { type }]) => [name, { type }] as const);
  return parseArgs({
    args: [...argv],
    options: Object.fromEntries(types),
    allowPositionals: true,
    strict: false,
    tokens: true,
  }).tokens;
}

function defaultsOf(specs: OptionSpecs): Record<string, boolean | string | string[] | undefined> {
  const entries = Object.entries(specs).map(([name, spec]) => {
    if (spec.type === "boolean") return [name, false];
    return [name, spec.multiple === true ? [] : spec.default];
  });
  return Object.fromEntries(entries);
}

function specOf({ name, options }: Command, { name: option, rawName }: OptionToken): OptionSpec {
  const spec = Object.hasOwn(options, option) ? options[option] : undefined;
  if (spec !== undefined) return spec;
  const meant = nearestName(option, Object.keys(options));
  const remedy = meant === undefined ? `See farebox ${name} --help` : `Write --${meant}`;
  throw wrongCall(`there is no option ${JSON.stringify(rawName)}`, remedy);
}

function readValue({ rawName, value, inlineValue }: OptionToken, spec: OptionSpec): string | boolean {
  if (spec.type === "boolean") {
    if (value !== undefined) throw wrongCall(`${rawName} takes no value`, `Write ${rawName} alone`);
    return true;
  }
  const { choices } = spec;
  const given = value ?? "";
  if (choices !== undefined && !choices.includes(given)) {
    const known = choices.join(" or ");
    throw wrongCall(`${rawName} is ${known}, not ${JSON.stringify(given)}`, `Write ${rawName} ${choices[0]}`);
  }
  // Somebody forgot the value: the next option would be taken for it.
  if (given === "" || (inlineValue === false && given.startsWith("-"))) {
    throw wrongCall(`${rawName} needs a value`, `Write ${rawName}=<${spec.value ?? "value"}>`);
  }
  return given;
}
