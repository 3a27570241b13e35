import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSignedBy, SIGNATURE_BYTES } from "./ed25519.js";

/** RFC 8032, §7.1: tests 1 to 3. */
const VECTORS = [
  {
    publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    message: "",
    signature:
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  },
  {
    publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    message: "72",
    signature:
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  },
  {
    publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    message: "af82",
    signature:
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  },
].map((row) => ({
  name: row.message === "" ? "no bytes" : `the bytes ${row.message}`,
  publicKey: Buffer.from(row.publicKey, "hex"),
  message: Buffer.from(row.message, "hex"),
  signature: Buffer.from(row.signature, "hex"),
}));

const [FIRST, SECOND] = VECTORS as [(typeof VECTORS)[0], (typeof VECTORS)[0]];

/** The same bytes, one bit changed. */
function bent(bytes: Uint8Array, at: number): Buffer {
  return Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)));
}

describe("a signature of the RFC", () => {
  test.each(VECTORS)("a signature over $name belongs to its key", ({ publicKey, message, signature }) => {
    expect(signature).toHaveLength(SIGNATURE_BYTES);
    expect(isSignedBy(publicKey, message, signature)).toBe(true);
  });
});

describe("a signature is refused", () => {
  const { publicKey, message, signature } = SECOND;

  test.each<[why: string, publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array]>([
    ["of another key", FIRST.publicKey, message, signature],
    ["over another message", publicKey, FIRST.message, signature],
    ["over a longer message", publicKey, Buffer.concat([message, message]), signature],
    ["with a byte bent in front", publicKey, message, bent(signature, 0)],
    ["with a byte bent at the end", publicKey, message, bent(signature, 63)],
    ["a byte short", publicKey, message, signature.subarray(0, 63)],
    ["a byte long", publicKey, message, Buffer.concat([signature, Buffer.of(0)])],
    ["of no bytes", publicKey, message, Buffer.alloc(0)],
    ["of zeros", publicKey, message, Buffer.alloc(64)],
    ["of a key a byte short", publicKey.subarray(0, 31), message, signature],
    ["of a key a byte long", Buffer.concat([publicKey, Buffer.of(0)]), message, signature],
    ["of no key", Buffer.alloc(0), message, signature],
  ])("a signature is refused %s", (_why, key, over, given) => {
    expect(isSignedBy(key, over, given)).toBe(false);
  });

  test("isSignedBy is total over bytes", () => {
    const bytes = fc.uint8Array({ maxLength: 80 });
    const keys = fc.oneof(bytes, fc.uint8Array({ minLength: 32, maxLength: 32 }));
    const signatures = fc.oneof(bytes, fc.uint8Array({ minLength: SIGNATURE_BYTES, maxLength: SIGNATURE_BYTES }));
    fc.assert(
      fc.property(keys, bytes, signatures, (key, over, given) => {
        const isSigned = isSignedBy(key, over, given);
        if (key.length !== 32 || given.length !== SIGNATURE_BYTES) expect(isSigned).toBe(false);
      }),
    );
  });
});
