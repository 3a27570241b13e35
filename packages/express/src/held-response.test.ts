import { describe, expect, test } from "vitest";
import { type ChunkArguments, later, readWrite, refuseWrite } from "./held-response.js";

const callback = () => {};

describe("the arguments of write and end", () => {
  test.each<[string, ChunkArguments, string | undefined, boolean]>([
    ["nothing", [], undefined, false],
    ["a callback", [callback], undefined, true],
    ["null", [null], undefined, false],
    ["null and a callback", [null, callback], undefined, true],
    ["text", ["é"], "c3a9", false],
    ["text and a callback", ["é", callback], "c3a9", true],
    ["text and an encoding", ["é", "latin1"], "e9", false],
    ["text, an encoding and a callback", ["e9", "hex", callback], "e9", true],
    ["text, no encoding and a callback", ["a", undefined, callback], "61", true],
    ["base64", ["YQ==", "base64"], "61", false],
    ["base64url", ["_w", "base64url"], "ff", false],
    ["utf16le", ["a", "utf16le"], "6100", false],
    ["empty text", [""], "", false],
    ["bytes", [new Uint8Array([1, 255])], "01ff", false],
    ["bytes and an encoding, which is ignored", [Buffer.from("a"), "hex", callback], "61", true],
  ])("write and end accept %s", (_form, args, hex, hasCallback) => {
    const { chunk, callback: found } = readWrite(args);
    expect(chunk?.toString("hex")).toBe(hex);
    expect(found === callback).toBe(hasCallback);
  });

  test.each([[1], [true], [{ length: 1e9 }], [["a"]], [new ArrayBuffer(1)], [Symbol("a")]])(
    "%o as a chunk throws what Node throws",
    (chunk) => {
      expect(() => readWrite([chunk])).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE" }));
    },
  );

  test("an unknown encoding throws what Node throws", () => {
    expect(() => readWrite(["a", "nonsense"])).toThrow(expect.objectContaining({ code: "ERR_UNKNOWN_ENCODING" }));
  });

  test("a held chunk is a duplicate, so that the handler can reuse its buffer", () => {
    const reused = Buffer.from("before");
    const { chunk } = readWrite([reused]);
    reused.fill("x");
    expect(String(chunk)).toBe("before");
  });
});

describe("a callback", () => {
  test("a callback is called without arguments, after the call it was given to has returned", async () => {
    const calls: unknown[] = [];
    later((...args) => calls.push(args));
    expect(calls).toEqual([]);
    await new Promise(setImmediate);
    expect(calls).toEqual([[undefined]]);
  });

  test("the callback of a write after end gets Node's error", async () => {
    const error = await new Promise((resolve) => expect(refuseWrite(resolve)).toBe(false));
    expect(error).toMatchObject({ code: "ERR_STREAM_WRITE_AFTER_END" });
  });

  test("a missing callback is no error", () => {
    expect(() => later(undefined)).not.toThrow();
    expect(refuseWrite(undefined)).toBe(false);
  });
});
