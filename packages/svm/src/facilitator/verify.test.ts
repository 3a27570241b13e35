import fc from "fast-check";
import { expect, test } from "vitest";
import { readMint, readTokenAccount } from "./verify.js";

/** An extension: kind, length, value. */
function extension(kind: number, value: Uint8Array): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(kind, 0);
  head.writeUInt16LE(value.length, 2);
  return Buffer.concat([head, value]);
}

function fee(older: number, newer: number): Buffer {
  const value = Buffer.alloc(108);
  value.writeUInt16LE(older, 88);
  value.writeUInt16LE(newer, 106);
  return extension(1, value);
}

function mint(...extensions: Buffer[]): Buffer {
  return Buffer.concat([Buffer.alloc(82).fill(6, 44, 45), Buffer.alloc(83), Buffer.of(1), ...extensions]);
}

const CLOSE_AUTHORITY = extension(3, Buffer.alloc(32, 1));

test.each<[what: string, data: Buffer, hasTransferFee: boolean]>([
  ["a mint without room for extensions", Buffer.alloc(82).fill(6, 44, 45), false],
  ["a mint without extensions", mint(), false],
  ["another extension", mint(CLOSE_AUTHORITY), false],
  ["a fee of zero, like that of PYUSD", mint(CLOSE_AUTHORITY, fee(0, 0)), false],
  ["a fee", mint(fee(1, 1)), true],
  ["a fee that ends", mint(fee(1, 0)), true],
  ["a fee that begins", mint(CLOSE_AUTHORITY, fee(0, 1)), true],
  ["a fee that is cut off", mint(fee(0, 0).subarray(0, 50)), true],
])("readMint reads %s", (_, data, hasTransferFee) => {
  expect(readMint(data)).toEqual({ decimals: 6, hasTransferFee });
  expect(readTokenAccount(data)).toBeUndefined();
});

test("readMint and readTokenAccount never throw for any bytes", () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.uint8Array({ maxLength: 300 }).map((more) => mint(Buffer.from(more))),
  );
  fc.assert(
    fc.property(bytes, (data) => {
      readMint(data);
      readTokenAccount(data);
    }),
  );
});
