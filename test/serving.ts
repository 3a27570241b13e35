/**
 * Servers for the time of a test.
 *
 * @module
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Express } from "express";
import { onTestFinished } from "vitest";

/** Serves an app for the time of the test. Returns its origin. */
export async function serve(app: Express): Promise<string> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
