/**
 * Fields of unchecked JSON. Each reader yields the typed value, or nothing when the field is not of that form.
 *
 * @module
 */
import { isJsonObject } from "@farebox/core";
import type { Fields } from "@farebox/core/scheme";
import type { Address, Hex } from "./chain.js";

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const BYTES32 = /^0x[0-9a-fA-F]{64}$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})+$/;

/** 2^256 has 78 digits. One number is written in one way: without leading zeros. */
const DECIMAL = /^(?:0|[1-9][0-9]{0,77})$/;
const UINT256_LIMIT = 2n ** 256n;

/** Reads an object: not `null`, not an array. */
export function readFields(value: unknown): Fields | undefined {
  return isJsonObject(value) ? value : undefined;
}

/**
 * Reads an address, in lower case: whether the checksum in the capitals is right decides nothing here, and libraries
 * that insist on it would throw.
 */
export function readAddress(value: unknown): Address | undefined {
  return typeof value === "string" && ADDRESS.test(value) ? `0x${value.slice(2).toLowerCase()}` : undefined;
}

/** Reads 32 bytes, in lower case. */
export function readBytes32(value: unknown): Hex | undefined {
  return typeof value === "string" && BYTES32.test(value) ? `0x${value.slice(2).toLowerCase()}` : undefined;
}

/** Reads at least one byte and at most `limit` bytes. */
export function readBytes(value: unknown, limit: number): Hex | undefined {
  if (typeof value !== "string" || value.length > 2 + limit * 2 || !BYTES.test(value)) return undefined;
  return `0x${value.slice(2)}`;
}

/** Reads a decimal string from 0 to 2^256 - 1. A JSON number is refused: above 2^53 it would already be another one. */
export function readUint256(value: unknown): bigint | undefined {
  if (typeof value !== "string" || !DECIMAL.test(value)) return undefined;
  const number = BigInt(value);
  return number < UINT256_LIMIT ? number : undefined;
}

/** Reads text of 1 to `limit` characters. */
export function readText(value: unknown, limit: number): string | undefined {
  return typeof value === "string" && value.length > 0 && value.length <= limit ? value : undefined;
}
