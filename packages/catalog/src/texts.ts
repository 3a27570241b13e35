/**
 * The texts of an entry for search: its name, its description, its parameters, and its output.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import type { Service, ServiceMethod } from "./service.js";
import type { EntryTexts } from "./store.js";

const MAX_WORDS = 400;
const MAX_WORD = 40;

/** Splits a text into lower case words, also within names such as `getUserById` and `user_id`. */
export function wordsOf(text: string): readonly string[] {
  const separated = text
    .slice(0, 20_000)
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase();
  return (separated.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length <= MAX_WORD).slice(0, MAX_WORDS);
}

/** Gathers the texts of a service, of all its methods. */
export function textsOf(service: Service): EntryTexts {
  const { resource, methods } = service;
  return {
    name: joined(namesOf(service)),
    description: joined(methods.flatMap(descriptionsIn)),
    parameters: joined(methods.flatMap(parametersIn)),
    other: joined([...methods.flatMap(outputsIn), hostOf(resource)]),
  };
}

/** The words of all texts, each once. */
export function termsOf(texts: EntryTexts): readonly string[] {
  return [...new Set(Object.values(texts).join(" ").split(" "))].filter((term) => term !== "");
}

const MAX_SENTENCE = 500;

/** A service in a sentence for an embedder: `weather current: Current weather conditions for a city`. */
export function sentenceOf(service: Service): string {
  const descriptions = [...new Set(service.methods.flatMap(descriptionsIn))].filter((text) => text !== "");
  return `${joined(namesOf(service))}: ${descriptions.join(". ")}`.slice(0, MAX_SENTENCE);
}

function namesOf({ resource, toolName, methods }: Service): readonly string[] {
  const names = methods.flatMap(({ serviceName = "", tags = [] }) => [serviceName, ...tags]);
  return [toolName, ...names, ...pathOf(resource)];
}

function descriptionsIn({ description = "", info }: ServiceMethod): readonly string[] {
  const own = info.input["description"];
  return [description, typeof own === "string" ? own : ""];
}

function parametersIn(method: ServiceMethod): readonly string[] {
  const { input } = method.info;
  return [
    ...schemasIn(method).flatMap((part) => describedIn(part)),
    ...["queryParams", "body", "pathParams", "example"].flatMap((name) => namesIn(input[name])),
  ];
}

/** The schemas of the input. */
function schemasIn({ info, schema }: ServiceMethod): readonly unknown[] {
  const declared = fieldOf(fieldOf(fieldOf(schema, "properties"), "input"), "properties");
  return [...["queryParams", "body", "pathParams"].map((name) => fieldOf(declared, name)), info.input["inputSchema"]];
}

function outputsIn({ info, schema }: ServiceMethod): readonly string[] {
  return [...describedIn(fieldOf(fieldOf(schema, "properties"), "output")), ...namesIn(info["output"])];
}

function joined(texts: readonly string[]): string {
  return [...new Set(texts)].flatMap(wordsOf).slice(0, MAX_WORDS).join(" ");
}

/** Path segments such as `v1` and `api` do not describe a service. */
function pathOf(resource: string): readonly string[] {
  const path = URL.canParse(resource) ? new URL(resource).pathname : "";
  return path.split("/").filter((segment) => !/^(?:v\d+|api|tool|mcp|rest|:var\d+|)$/i.test(segment));
}

function hostOf(resource: string): string {
  if (!URL.canParse(resource) || resource.startsWith("mcp:")) return "";
  const labels = new URL(resource).hostname.split(".");
  return labels.slice(0, -1).join(" ");
}

/** Names, descriptions and allowed values in a schema. */
function describedIn(schema: unknown, depth = 0): readonly string[] {
  if (!isJsonObject(schema) || depth > 8) return [];
  const { description, title, properties, items } = schema;
  const own = [description, title].filter((text) => typeof text === "string");
  const values = Array.isArray(schema["enum"])
    ? schema["enum"].filter((text) => typeof text === "string").slice(0, 20)
    : [];
  const fields = isJsonObject(properties)
    ? Object.entries(properties).flatMap(([name, field]) => [name, ...describedIn(field, depth + 1)])
    : [];
  return [...own, ...fields, ...values, ...describedIn(items, depth + 1)];
}

/** Field names and short texts in an example. */
function namesIn(example: unknown, depth = 0): readonly string[] {
  if (typeof example === "string") return example.length <= 60 ? [example] : [];
  if (Array.isArray(example)) return example.slice(0, 3).flatMap((item) => namesIn(item, depth + 1));
  if (!isJsonObject(example) || depth > 6) return [];
  return Object.entries(example).flatMap(([name, field]) => [name, ...namesIn(field, depth + 1)]);
}

function fieldOf(value: unknown, name: string): JsonObject | undefined {
  const field = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(field) ? field : undefined;
}
