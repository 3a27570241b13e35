import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ParsedRpcOptions, parseRpcOptions } from "./rpc-options.js";
import { waitForReceipt } from "./sender.js";

const HASH = `0x${"1".repeat(64)}` as const;

/** The node's response to one question for the receipt. Two confirmations are needed, and `new` has one. */
type Look = "none" | "error" | "new" | "deep";

let server: Server;
let looks: readonly Look[] = [];
let looked = 0;

beforeAll(async () => {
  server = createServer((req, res) => void respond(req, res).catch(() => res.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  const { id, method } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
  const body = method === "eth_blockNumber" ? { result: "0x10" } : responseTo(looks[looked++] ?? "deep");
  res.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
}

function responseTo(look: Look): object {
  if (look === "none") return { result: null };
  if (look === "error") return { error: { code: -32_602, message: "invalid params" } };
  return { result: { transactionHash: HASH, blockNumber: look === "new" ? "0x10" : "0xf", status: "0x1", logs: [] } };
}

function openOptions(...said: readonly Look[]): ParsedRpcOptions {
  looks = said;
  looked = 0;
  return parseRpcOptions({
    network: "eip155:84532",
    rpcUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    privateKey: HASH,
    confirmations: 2,
    pollingIntervalMs: 10,
    receiptTimeoutMs: 600_000,
    requestTimeoutMs: 60_000,
  });
}

/** Waits, with these signs, one after the other, of whether the transaction is crowded out. */
async function wait(options: ParsedRpcOptions, signs: readonly boolean[]) {
  let asked = 0;
  const seen = await waitForReceipt(options, HASH, async () => signs[asked++] ?? false);
  return { seen: typeof seen === "object" ? "receipt" : seen, asked };
}

describe("waiting for a receipt", () => {
  test("waitForReceipt waits until the receipt is deep enough, regardless of earlier responses", async () => {
    const options = openOptions("none", "error", "new", "none", "deep");
    expect(await waitForReceipt(options, HASH)).toMatchObject({ transactionHash: HASH, blockNumber: 15n });
    expect(looked).toBe(5);
  });

  test("waitForReceipt ends without a receipt when the time is over", async () => {
    const options = { ...openOptions("none"), receiptTimeoutMs: 0 };
    expect(await waitForReceipt(options, HASH)).toBeUndefined();
    expect(looked).toBe(1);
  });
});

describe("a transaction that seems to be crowded out", () => {
  const [YES, NO] = [true, false];
  type Row = readonly [why: string, looks: readonly Look[], signs: readonly boolean[], seen: string, asked: number];

  test.each<Row>([
    ["no sign is asked for if there is a receipt at once", ["deep"], [YES], "receipt", 0],
    ["no sign is asked for after the first look", ["none", "deep"], [YES], "receipt", 0],
    ["one sign does not end the wait", ["none", "none", "deep"], [YES], "receipt", 1],
    ["two signs end the wait", ["none", "none", "none"], [YES, YES], "crowded-out", 2],
    ["two late signs end the wait", ["none", "none", "none", "none"], [NO, YES, YES], "crowded-out", 3],
    [
      "signs with a no in between do not end the wait",
      ["none", "none", "none", "none", "deep"],
      [YES, NO, YES],
      "receipt",
      3,
    ],
    [
      "signs with an error in between do not end the wait",
      ["none", "none", "error", "none", "deep"],
      [YES, YES],
      "receipt",
      2,
    ],
    [
      "signs with a receipt in between do not end the wait",
      ["none", "none", "new", "none", "deep"],
      [YES, YES],
      "receipt",
      2,
    ],
    ["no sign is asked for while the node fails", ["error", "error", "error", "deep"], [YES, YES], "receipt", 0],
  ])("%s", async (_, said, signs, seen, asked) => {
    expect(await wait(openOptions(...said), signs)).toEqual({ seen, asked });
    expect(looked).toBe(said.length);
  });

  test("no sign is asked for when no time is left to send the payment again", async () => {
    const options = { ...openOptions(...Array<Look>(100).fill("none")), receiptTimeoutMs: 10 };
    expect(await wait(options, [YES, YES])).toEqual({ seen: undefined, asked: 0 });
  });
});
