/**
 * What a load is made of: connections that read responses, and payments that a seller takes for new ones.
 *
 * @module
 */
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createFarebox } from "../sides/farebox.js";
import { Connection } from "./connection.js";
import { Mint, SIGNED_FIRST } from "./payments.js";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

test("a connection counts one response, however its bytes are cut", async () => {
  const bytes = "HTTP/1.1 402 Payment Required\r\ncontent-length: 10\r\nX: y\r\n\r\n0123456789";
  for (let cut = 1; cut < bytes.length; cut += 7) {
    const url = await listen(
      createTcpServer((socket) => {
        socket.setNoDelay(true);
        socket.on("data", () =>
          socket.write(bytes.slice(0, cut), () => setImmediate(() => socket.write(bytes.slice(cut)))),
        );
        socket.on("error", () => {});
      }),
    );
    const connection = await Connection.open(url, () => {});
    const statuses = [await get(connection), await get(connection)];
    connection.close();
    expect(statuses).toEqual([402, 402]);
  }
});

test("a payment that repeats a signature is a new payment to the seller", async () => {
  const url = await listen(createServer(createFarebox({ side: "farebox", fillers: 0, offers: 1 })));
  const connection = await Connection.open(url, () => {});
  const mint = await Mint.open(`${url.origin}/paid`);
  for (let at = 0; at < SIGNED_FIRST; at++) expect(await get(connection, await mint.sign())).toBe(200);
  const [one, other] = [mint.next(), mint.next()];
  const statuses = [await get(connection, one), await get(connection, other), await get(connection, one)];
  connection.close();
  // The last one was sent again.
  expect(statuses).toEqual([200, 200, 402]);
});

async function listen(server: Server): Promise<URL> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function get(connection: Connection, payment?: string): Promise<number> {
  return new Promise((resolve) => connection.get("/paid", payment, resolve));
}
