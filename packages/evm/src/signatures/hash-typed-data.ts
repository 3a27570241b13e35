/**
 * The digest that a payer signs, of typed data whose fields all have a fixed size.
 *
 * @see EIP-712, "Definition of hashStruct" and "Definition of encodeData"
 * @module
 */
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { TypedData } from "./typed-data.js";

type Types = TypedData["types"];

/** The types of all fields of a domain, in their order. A domain may lack some of them. */
const DOMAIN = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
] as const;

/** What stands before the hashes of the domain and of the message. */
const PREFIX = Buffer.from([0x19, 0x01]);

/** Hashes of domains, by their fields. All payments for one asset have the same domain. */
const domainHashes = new Map<string, Uint8Array>();

/** Then they are forgotten: a client may name any domain. */
const MOST_DOMAINS = 256;

/** The fields of a domain that is remembered, in characters. */
const LONGEST_DOMAIN = 256;

/** Hashes typed data. Knows `address`, `uint256`, `bytes32`, `string` and structures of these. */
export function hashTypedData({ domain, types, primaryType, message }: TypedData): Uint8Array {
  const { name, version, chainId, verifyingContract } = domain;
  const key = JSON.stringify([name, version, chainId, verifyingContract]);
  let domainHash = domainHashes.get(key);
  if (domainHash === undefined) {
    const EIP712Domain = DOMAIN.filter((field) => domain[field.name] !== undefined);
    domainHash = hashStruct("EIP712Domain", { ...domain }, { EIP712Domain });
    if (domainHashes.size === MOST_DOMAINS) domainHashes.clear();
    if (key.length <= LONGEST_DOMAIN) domainHashes.set(key, domainHash);
  }
  return keccak_256(Buffer.concat([PREFIX, domainHash, hashStruct(primaryType, message, types)]));
}

function hashStruct(type: string, value: Readonly<Record<string, unknown>>, types: Types): Uint8Array {
  const parts = [typeHashes.get(types)?.get(type) ?? hashType(type, types)];
  for (const field of types[type] ?? []) {
    const given = value[field.name];
    if (field.type in types) parts.push(hashStruct(field.type, Object(given), types));
    else if (field.type === "string") parts.push(keccak_256(Buffer.from(String(given), "utf8")));
    else {
      const hex = field.type === "uint256" ? BigInt(String(given)).toString(16) : String(given).slice(2);
      parts.push(Buffer.from(hex.padStart(64, "0"), "hex"));
    }
  }
  return keccak_256(Buffer.concat(parts));
}

/** Hashes of types. The messages of payments have few, which never change. */
const typeHashes = new WeakMap<Types, Map<string, Uint8Array>>();

/** Hashes `Mail(Person from,string text)Person(string name)`: the type, then the structures in it by name. */
function hashType(type: string, types: Types): Uint8Array {
  const [first = type, ...others] = structuresOf(type, types);
  const write = (name: string) =>
    `${name}(${(types[name] ?? []).map((field) => `${field.type} ${field.name}`).join(",")})`;
  const hash = keccak_256(Buffer.from([first, ...others.sort()].map(write).join(""), "utf8"));
  const hashes = typeHashes.get(types) ?? new Map<string, Uint8Array>();
  typeHashes.set(types, hashes.set(type, hash));
  return hash;
}

function structuresOf(type: string, types: Types): readonly string[] {
  const inside = (types[type] ?? []).filter((field) => field.type in types);
  return [...new Set([type, ...inside.flatMap((field) => structuresOf(field.type, types))])];
}
