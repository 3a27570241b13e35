/**
 * The network of golden sequences is no other than the kernel's: what happens to a connection looks the same to both of its sides.
 *
 * @module
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { Network, Wire } from "./wire.js";

type Side = Duplex & { resetAndDestroy(): unknown };

interface Pair {
  readonly client: Side;
  readonly server: Side;
}

async function overKernel(): Promise<Pair> {
  const listening = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(listening, "listening");
  const address = listening.address();
  const client = connect({ host: "127.0.0.1", port: typeof address === "object" ? (address?.port ?? 0) : 0 });
  const [server] = await once(listening, "connection");
  if (client.connecting) await once(client, "connect");
  listening.close();
  return { client, server };
}

function overWire(): Pair {
  const network = new Network();
  const client = new Wire(network, { isClient: true, address: "127.0.0.1", port: 1 });
  const server = new Wire(network, { isClient: false, address: "127.0.0.1", port: 2 });
  client.join(server);
  return { client, server };
}

/** More than a kernel keeps for somebody who does not read. */
const HUGE = Buffer.alloc(32 * 1024 * 1024);

const CASES: Readonly<Record<string, (pair: Pair) => void>> = {
  "the client ends, and the server does": ({ client, server }) => {
    client.end("a question");
    server.once("end", () => void server.end("a response"));
  },
  "the server ends, and so does the client": ({ client, server }) => {
    client.write("a question");
    server.once("data", () => void server.end("a response"));
  },
  "the client leaves when it has read all": ({ client, server }) => {
    server.write("a response");
    client.once("data", () => void client.destroy());
    server.once("end", () => void server.end());
  },
  "the client leaves what it has not read": ({ client, server }) => {
    server.write(HUGE);
    client.once("data", () => {
      client.pause();
      client.destroy();
    });
  },
  "the client resets": ({ client, server }) => {
    server.write("a response");
    client.once("data", () => void client.resetAndDestroy());
  },
  "the server leaves in the middle of a response": ({ client, server }) => {
    server.write("half a response", () => void server.destroy());
    client.resume();
  },
  "the server leaves with an error of its own": ({ client, server }) => {
    client.write("a question");
    server.once("data", () => void server.destroy(new Error("the process died")));
  },
};

describe("a connection that closes in some way", () => {
  test.each(Object.entries(CASES))("%s", async (_, act) => {
    const [kernel, wire] = [await watch(await overKernel(), act), await watch(overWire(), act)];
    expect(kernel.server.length + kernel.client.length).toBeGreaterThan(2);
    expect(wire).toEqual(kernel);
  });
});

/** What each side sees until both are closed. */
async function watch(pair: Pair, act: (pair: Pair) => void): Promise<Record<keyof Pair, readonly string[]>> {
  const seen = { client: [] as string[], server: [] as string[] };
  const closed = (["client", "server"] as const).map((name) => {
    const [side, lines] = [pair[name], seen[name]];
    const put = (line: string) => void (lines.includes(line) || lines.push(line));
    side.on("data", () => put("data"));
    side.on("end", () => put("end"));
    // Whether a write or a read finds out differs.
    side.on("error", (error: NodeJS.ErrnoException) =>
      put(/^(ECONNRESET|EPIPE)$/.test(error.code ?? "") ? "reset" : error.message),
    );
    return new Promise<void>((resolve) => {
      side.on("close", () => {
        put("close");
        resolve();
      });
    });
  });
  act(pair);
  await Promise.all(closed);
  return seen;
}
