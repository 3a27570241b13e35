import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeBase58 } from "../address.js";
import {
  AddressLookupTableAccount,
  encode,
  FEE_PAYER,
  memo,
  ordinary,
  PAYER,
  PublicKey,
  STRANGER,
  tokenAccount,
  transaction,
} from "../payments.fixture.js";
import { MAX_TRANSACTION_BYTES, readTransaction } from "./read-transaction.js";

/** The parts of an ordinary payment, so that a test can change one of them. */
function bytes(version: "legacy" | 0 = 0): Buffer {
  return Buffer.from(transaction({ version }).serialize());
}

/** The position of the message: after the number of signatures, two signatures, and in version 0 the version. */
const MESSAGE_AT = 1 + 2 * 64;

function changed(change: (all: Buffer) => Buffer): string {
  return change(bytes()).toString("base64");
}

describe.each(["legacy", 0] as const)("a message of version %s", (version) => {
  test("a message written by @solana/web3.js is read", () => {
    const built = transaction({ version });
    const read = readTransaction(encode(built));
    expect(read?.message).toEqual(Buffer.from(built.message.serialize()));
    expect(read?.signers.map(encodeBase58)).toEqual([FEE_PAYER.publicKey.toBase58(), PAYER.publicKey.toBase58()]);
    expect(read?.signatures).toEqual(built.signatures.map((signature) => Buffer.from(signature)));
    expect(read === undefined ? "" : encodeBase58(read.blockhash)).toBe(built.message.recentBlockhash);
    const instructions = ordinary().map(({ programId, keys, data }) => ({
      program: programId.toBuffer(),
      accounts: keys.map(({ pubkey }) => pubkey.toBuffer()),
      data,
    }));
    expect(read?.instructions).toEqual(instructions);
  });

  test("a message is not read when a byte is missing or one too many", () => {
    const all = bytes(version);
    for (let length = 0; length < all.length; length++) {
      expect(readTransaction(all.subarray(0, length).toString("base64"))).toBeUndefined();
    }
    expect(readTransaction(Buffer.concat([all, Buffer.of(0)]).toString("base64"))).toBeUndefined();
  });
});

test("a transaction that fills a packet is read, and a longer one is not", () => {
  const around = bytes().length - "a nonce".length + 1;
  const wire = (length: number) => {
    const text = "x".repeat(length - around);
    return encode(transaction({ instructions: ordinary().with(3, memo(text)) }));
  };
  expect(Buffer.from(wire(MAX_TRANSACTION_BYTES), "base64")).toHaveLength(MAX_TRANSACTION_BYTES);
  expect(readTransaction(wire(MAX_TRANSACTION_BYTES))).toBeDefined();
  expect(Buffer.from(wire(MAX_TRANSACTION_BYTES + 1), "base64")).toHaveLength(MAX_TRANSACTION_BYTES + 1);
  expect(readTransaction(wire(MAX_TRANSACTION_BYTES + 1))).toBeUndefined();
});

describe("readTransaction refuses", () => {
  const text = bytes().toString("base64");
  const withByte = (at: number, value: number) => changed((all) => all.fill(value, at, at + 1));
  test.each<[why: string, text: unknown]>([
    ["bytes", bytes()],
    ["an empty text", ""],
    ["base64 without its padding", changed((all) => Buffer.concat([all, all]).subarray(0, 400)).replace(/=+$/, "")],
    ["base64 with a line break", `${text.slice(0, 76)}\n${text.slice(76)}`],
    ["base64url", text.replaceAll("+", "-").replaceAll("/", "_").replace(/^..../, "-_-_")],
    ["base64 with an invalid character", `${text.slice(0, -4)}!${text.slice(-3)}`],
    ["hex", bytes().toString("hex")],
    ["more than a packet holds", Buffer.alloc(MAX_TRANSACTION_BYTES + 1).toString("base64")],
    ["a very long text", "A".repeat(10_000_000)],
    ["a length in more bytes than it needs", changed((all) => Buffer.concat([Buffer.of(0x82, 0), all.subarray(1)]))],
    ["a length in four bytes", changed((all) => Buffer.concat([Buffer.of(0x82, 0x80, 0x80, 1), all.subarray(1)]))],
    ["a signature fewer than signers", changed((all) => Buffer.concat([Buffer.of(1), all.subarray(65)]))],
    ["a signature more", changed((all) => Buffer.concat([Buffer.of(3), Buffer.alloc(64), all.subarray(1)]))],
    ["version 1", withByte(MESSAGE_AT, 0x81)],
    ["no signer", withByte(MESSAGE_AT + 1, 0)],
    ["a first signer that is read-only", withByte(MESSAGE_AT + 2, 2)],
    ["more readonly accounts than there are", withByte(MESSAGE_AT + 3, 200)],
    [
      "an account twice",
      changed((all) => Buffer.concat([all.subarray(0, 166), all.subarray(134, 166), all.subarray(198)])),
    ],
  ])("a transaction is not read: %s", (_, value) => {
    expect(readTransaction(value)).toBeUndefined();
  });

  test("a transaction with accounts from a lookup table is not read", () => {
    const table = new AddressLookupTableAccount({
      key: STRANGER.publicKey,
      state: {
        deactivationSlot: 2n ** 64n - 1n,
        lastExtendedSlot: 0,
        lastExtendedSlotStartIndex: 0,
        addresses: [tokenAccount(new PublicKey(3)), tokenAccount(PAYER.publicKey)],
      },
    });
    const built = transaction({ tables: [table] });
    expect(built.message.addressTableLookups).not.toEqual([]);
    expect(readTransaction(encode(built))).toBeUndefined();
  });

  test("a transaction that names a lookup table is not read, even without accounts from it", () => {
    const all = bytes();
    const lookup = Buffer.concat([Buffer.of(1), STRANGER.publicKey.toBuffer(), Buffer.of(1, 0, 0)]);
    expect(readTransaction(Buffer.concat([all.subarray(0, -1), lookup]).toString("base64"))).toBeUndefined();
    expect(readTransaction(Buffer.concat([all.subarray(0, -1), Buffer.of(1)]).toString("base64"))).toBeUndefined();
  });

  test("a transaction is not read when an instruction's program is the fee payer, or missing", () => {
    const all = bytes();
    const program = all.lastIndexOf(Buffer.concat([Buffer.of(0, 7), Buffer.from("a nonce"), Buffer.of(0)])) - 1;
    const accounts = transaction().message.staticAccountKeys.length;
    expect(
      readTransaction(
        Buffer.from(all)
          .fill(all[program] ?? 0, program, program + 1)
          .toString("base64"),
      ),
    ).toBeDefined();
    expect(
      readTransaction(
        Buffer.from(all)
          .fill(0, program, program + 1)
          .toString("base64"),
      ),
    ).toBeUndefined();
    expect(
      readTransaction(
        Buffer.from(all)
          .fill(accounts, program, program + 1)
          .toString("base64"),
      ),
    ).toBeUndefined();
  });
});

test("readTransaction never throws for any bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1300 }), fc.constantFrom(0, 1, 2), (some, count) => {
      const body = Buffer.concat([Buffer.of(count), Buffer.alloc(64 * count), some]);
      readTransaction(body.toString("base64"));
      readTransaction(Buffer.from(some).toString("base64"));
    }),
  );
});
