import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { CERTIFICATE, PRIVATE_KEY } from "../../packages/core/src/http/localhost-certificate.fixture.js";

/** Node reads its trusted certificates at start, so the seller is a process of its own. */
const SELLER = `
  import { createHttpFacilitator } from "@farebox/core";
  const facilitator = createHttpFacilitator({ url: process.argv[1] });
  const kinds = [];
  for (let asked = 0; asked < 3; asked++) {
    kinds.push((await facilitator.supported()).kinds.length);
    await new Promise(setImmediate);
  }
  process.stdout.write(JSON.stringify(kinds));
`;

test("a facilitator is asked over HTTPS, on one connection", async () => {
  const folder = await mkdtemp(join(tmpdir(), "farebox-https-"));
  const trusted = join(folder, "trusted.pem");
  await writeFile(trusted, CERTIFICATE);
  let connections = 0;
  const server = createServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, (_, response) => response.end('{"kinds":[]}'));
  server.on("secureConnection", () => connections++).listen(0, "127.0.0.1");
  await once(server, "listening");
  // A connection is kept however long the seller's process takes.
  server.keepAliveTimeout = 0;
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", SELLER, url], {
      cwd: import.meta.dirname,
      env: { ...process.env, NODE_EXTRA_CA_CERTS: trusted },
    });
    expect(JSON.parse(stdout)).toEqual([0, 0, 0]);
    expect(connections).toBe(1);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
