/**
 * The digest that a payer signs, of typed data whose fields all have a fixed size.
 *
 * @see EIP-712, "Definition of hashStruct" and "Definition of encodeData"
 * @module
 */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { addressWord, uintWord } from "../node/node-questions.js";
import type { TypedData } from "./typed-data.js";

type Types = TypedData["types"];

/** The types of all fields of a domain, in their order. A domain may lack some of them. */
const DOMAIN = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
] as const;

/** Hashes typed data. Knows `address`, `uint256`, `bytes32`, `string` and structures of these. */
export function hashTypedData({ domain, types, primaryType, message }: TypedData): Uint8Array {
  const domainTypes = { EIP712Domain: DOMAIN.filter(({ name }) => domain[name] !== undefined) };
  const parts = [hashStruct("EIP712Domain", { ...domain }, domainTypes), hashStruct(primaryType, message, types)];
  return keccak_256(Buffer.concat([Buffer.from([0x19, 0x01]), ...parts]));
}

function hashStruct(type: string, value: Readonly<Record<string, unknown>>, types: Types): Uint8Array {
  const fields = types[type] ?? [];
  const words = fields.map((field) => encodeField(field.type, value[field.name], types));
  return keccak_256(Buffer.concat([hashText(encodeType(type, types)), ...words]));
}

function encodeField(type: string, value: unknown, types: Types): Uint8Array {
  if (type in types) return hashStruct(type, Object(value), types);
  const text = String(value);
  if (type === "string") return hashText(text);
  const word = type === "address" ? addressWord(text) : type === "uint256" ? uintWord(BigInt(text)) : text;
  return Buffer.from(word.slice(2), "hex");
}

/** `Mail(Person from,string text)Person(string name)`: the type, then the structures in it by name. */
function encodeType(type: string, types: Types): string {
  const [first = type, ...others] = structuresOf(type, types);
  const write = (name: string) =>
    `${name}(${(types[name] ?? []).map((field) => `${field.type} ${field.name}`).join(",")})`;
  return [first, ...others.sort()].map(write).join("");
}

function structuresOf(type: string, types: Types): readonly string[] {
  const inside = (types[type] ?? []).filter((field) => field.type in types);
  return [...new Set([type, ...inside.flatMap((field) => structuresOf(field.type, types))])];
}

function hashText(text: string): Uint8Array {
  return keccak_256(Buffer.from(text, "utf8"));
}
