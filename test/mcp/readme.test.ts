/**
 * The package README's examples, run as they are printed there, in a Node process of their own.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createPayer, createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import { challengeOf, textOf } from "./shop.js";

const README = readFileSync(new URL("../../packages/mcp/README.md", import.meta.url), "utf8");
const [EXAMPLE = "", ROUTE = ""] = [...README.matchAll(/```js\n([\s\S]*?)```/g)].map((match) => match[1]);
const LISTEN = 'app.listen(0, "127.0.0.1", function () { console.log(this.address().port); });';

test("the README's examples sell a tool, and a route as a tool", async () => {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 10_000n);
  const facilitatorServer = await startFacilitatorServer({ facilitator });
  onTestFinished(() => facilitatorServer.close());
  const program = EXAMPLE + ROUTE + LISTEN;
  const seller = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: new URL("../..", import.meta.url),
    env: { ...process.env, FACILITATOR_URL: facilitatorServer.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(seller, "exit");
  onTestFinished(async () => {
    seller.kill();
    await exited;
  });
  const [port] = (await once(createInterface({ input: seller.stdout }), "line")) as [string];
  const client = new Client({ name: "buyer", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)) as never);
  onTestFinished(() => client.close());

  const call = async (name: string, payment?: unknown) =>
    (await client.callTool({
      name,
      arguments: { city: "Paris" },
      ...(payment === undefined ? {} : { _meta: { "x402/payment": payment } }),
    })) as CallToolResult;
  const buy = async (name: string) => {
    const challenge = challengeOf(await call(name));
    return call(name, await payer.signExact(challenge.accepts[0]!, { challenge }));
  };
  expect(textOf(await call("ping"))).toBe("free");
  expect(textOf(await buy("get_weather"))).toBe(`sunny in Paris, says ${payer.address}`);
  expect(textOf(await buy("city_weather"))).toBe('{"city":"Paris","weather":"sunny"}');
  expect(facilitator.ledger.transfers.map(({ amount }) => amount)).toEqual([1000n, 1000n]);
});
