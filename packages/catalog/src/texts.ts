/**
 * The words of an entry: what it is called, what it says of itself, what it takes, what it gives.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import type { Service } from "./service.js";
import type { EntryTexts } from "./store.js";

const MAX_WORDS = 400;
const MAX_WORD = 40;

/** Splits a text into words of lower case: `getUserById` and `user_id` have the words that a reader sees in them. */
export function wordsOf(text: string): readonly string[] {
  const apart = text
    .slice(0, 20_000)
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase();
  return (apart.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length <= MAX_WORD).slice(0, MAX_WORDS);
}

/** Gathers the texts of a service. */
export function textsOf(service: Service): EntryTexts {
  const { toolName, serviceName = "", tags = [], description = "", info, schema, resource } = service;
  const { input } = info;
  const declared = fieldOf(fieldOf(schema, "properties"), "input");
  const taken = ["queryParams", "body", "pathParams"].map((name) => fieldOf(fieldOf(declared, "properties"), name));
  const said = typeof input["description"] === "string" ? input["description"] : "";
  const parameters = [
    ...taken.flatMap(describedIn),
    ...describedIn(input["inputSchema"]),
    ...["queryParams", "body", "pathParams", "example"].flatMap((name) => namesIn(input[name])),
  ];
  const given = [...describedIn(fieldOf(fieldOf(schema, "properties"), "output")), ...namesIn(info["output"])];
  return {
    name: joined([toolName, serviceName, ...tags, ...pathOf(resource)]),
    description: joined([description, said]),
    parameters: joined(parameters),
    other: joined([...given, hostOf(resource)]),
  };
}

function joined(texts: readonly string[]): string {
  return [...new Set(texts)].flatMap(wordsOf).slice(0, MAX_WORDS).join(" ");
}

/** Versions and the like say nothing of what a service does. */
function pathOf(resource: string): readonly string[] {
  const path = URL.canParse(resource) ? new URL(resource).pathname : "";
  return path.split("/").filter((segment) => !/^(?:v\d+|api|tool|mcp|rest|:var\d+|)$/i.test(segment));
}

function hostOf(resource: string): string {
  if (!URL.canParse(resource) || resource.startsWith("mcp:")) return "";
  const labels = new URL(resource).hostname.split(".");
  return labels.slice(0, -1).join(" ");
}

/** Names and descriptions of everything that a schema describes. */
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

/** Names of the fields of an example, and its short texts. */
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
