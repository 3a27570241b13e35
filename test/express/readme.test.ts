/**
 * The package README's example, run unchanged in a process of its own.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createTestFacilitator, pay, startFacilitatorServer } from "@farebox/testing";
import { expect, onTestFinished, test } from "vitest";

const README = readFileSync(new URL("../../packages/express/README.md", import.meta.url), "utf8");
const EXAMPLE = /```ts\n([\s\S]*?)```/.exec(README)?.[1] ?? "";
const LISTEN = 'app.listen(0, "127.0.0.1", function () { console.log(this.address().port); });';

test("the README's example prices its route and no other", async () => {
  // In place of the public one.
  const facilitator = await startFacilitatorServer({ facilitator: createTestFacilitator() });
  onTestFinished(() => facilitator.close());
  const program = EXAMPLE.replace(/https:\/\/[^"]+\/facilitator/, facilitator.url) + LISTEN;
  expect(program).toContain(facilitator.url);
  const seller = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: new URL("../..", import.meta.url),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(seller, "exit");
  onTestFinished(async () => {
    seller.kill();
    await exited;
  });
  const [port] = (await once(createInterface({ input: seller.stdout }), "line")) as [string];

  const { status, challenge } = await pay(`http://127.0.0.1:${port}/weather/paris`);
  expect(status).toBe(402);
  expect(challenge?.accepts).toMatchObject([{ amount: "1000", network: "eip155:84532" }]);
  expect((await pay(`http://127.0.0.1:${port}/`)).status).toBe(404);
});
