import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createPublicClient, http } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { problemOf } from "./chain.js";
import { broadcast, type Delivery } from "./sender.js";

/** Responses of the node, in order. The last one is repeated. */
type Said = { readonly code: number; readonly message: string } | "yes" | "hangs up";

let server: Server;
let said: readonly Said[] = [];
let asked = 0;

beforeAll(async () => {
  server = createServer((req, res) => {
    req.resume().on("end", () => {
      const response = said[Math.min(asked, said.length - 1)];
      asked += 1;
      if (response === "hangs up" || response === undefined) return void res.destroy();
      const body = response === "yes" ? { result: `0x${"1".repeat(64)}` } : { error: response };
      res.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

async function broadcastTo(...responses: readonly Said[]): Promise<Delivery & { readonly asked: number }> {
  said = responses;
  asked = 0;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/path-key`;
  const delivery = await broadcast(
    createPublicClient({ transport: http(url, { retryCount: 3, retryDelay: 1, timeout: 60_000 }) }),
    "0x02",
  );
  return { ...delivery, asked };
}

const error = (code: number, message: string) => ({ code, message });

describe("a node's response to a transaction", () => {
  const RESPONSES: readonly { readonly node: string; readonly response: Said; readonly kind: Delivery["kind"] }[] = [
    { node: "any", response: "yes", kind: "out" },
    { node: "geth", response: error(-32_000, "already known"), kind: "out" },
    { node: "anvil", response: error(-32_003, "transaction already imported"), kind: "out" },
    { node: "Erigon", response: error(-32_000, "ALREADY_EXISTS: already known"), kind: "out" },
    { node: "Nethermind", response: error(-32_010, "AlreadyKnown"), kind: "out" },
    { node: "Besu", response: error(-32_000, "Known transaction"), kind: "out" },
    { node: "geth", response: error(-32_000, "nonce too low: next nonce 7, tx nonce 5"), kind: "count-taken" },
    { node: "geth", response: error(-32_000, "replacement transaction underpriced"), kind: "count-taken" },
    { node: "anvil", response: error(-32_003, "nonce too low"), kind: "count-taken" },
    { node: "Nethermind", response: error(-32_010, "OldNonce, Current nonce: 7"), kind: "count-taken" },
    { node: "Besu", response: error(-32_001, "Nonce too low"), kind: "count-taken" },
    { node: "geth", response: error(-32_000, "insufficient funds for gas * price + value"), kind: "refused" },
    { node: "geth", response: error(-32_000, "transaction underpriced"), kind: "refused" },
    { node: "geth", response: error(-32_000, "intrinsic gas too low"), kind: "refused" },
    { node: "any", response: error(-32_602, "invalid params"), kind: "refused" },
    { node: "a provider", response: error(429, "too many requests"), kind: "refused" },
    { node: "a provider", response: error(-32_603, "internal error"), kind: "unclear" },
    { node: "geth", response: error(-32_002, "request timed out"), kind: "unclear" },
    { node: "a provider", response: error(-32_000, "upstream time-out"), kind: "unclear" },
    { node: "a provider", response: error(1_234, "something else"), kind: "unclear" },
    { node: "any", response: "hangs up", kind: "unclear" },
  ];

  test.each(RESPONSES)("the response $response of $node means $kind", async ({ response, kind }) => {
    const delivery = await broadcastTo(response);
    expect(delivery.kind).toBe(kind);
    // viem can repeat a request by itself; here that would hide the first response.
    expect(delivery.asked).toBe(kind === "unclear" ? 2 : 1);
  });

  test("an unclear response is cleared by a second yes, and by nothing else", async () => {
    expect(await broadcastTo("hangs up", "yes")).toMatchObject({ kind: "out", asked: 2 });
    expect(await broadcastTo("hangs up", error(-32_000, "already known"))).toMatchObject({ kind: "out" });
    expect(await broadcastTo("hangs up", error(-32_000, "nonce too low"))).toMatchObject({ kind: "unclear" });
    expect(await broadcastTo("hangs up", error(-32_000, "insufficient funds"))).toMatchObject({ kind: "unclear" });
  });
});

describe("problemOf", () => {
  const HEX = "ab".repeat(70);

  test.each([
    {
      why: "a URL",
      message: "bad key at https://x:y@node/v3/path-key now",
      says: "the node said: bad key at (a URL) now",
    },
    { why: "a signature", message: `cannot decode 0x${HEX}`, says: "the node said: cannot decode 0x(hex)" },
    { why: "line breaks and escapes", message: "a\r\nb\u001b[31mc\u202ed", says: "the node said: a b [31mc d" },
    { why: "a megabyte", message: "y".repeat(1_000_000), says: `the node said: ${"y".repeat(185)}` },
    { why: "nothing", message: "", says: "the node said: " },
  ])("a message with $why becomes one short, harmless line", async ({ message, says }) => {
    const delivery = await broadcastTo(error(-32_000, message));
    expect("error" in delivery && problemOf(delivery.error)).toBe(says);
  });

  test.each([
    [new RangeError("secret"), "RangeError"],
    ["secret", "not an error"],
    [undefined, "not an error"],
  ])("an error that is not from viem becomes its name: %o", (thrown, says) => {
    expect(problemOf(thrown)).toBe(says);
  });
});
