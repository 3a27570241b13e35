/**
 * The package README's example, run unchanged in a process of its own.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pay } from "@farebox/testing";
import { expect, onTestFinished, test } from "vitest";

const README = readFileSync(new URL("../../packages/express/README.md", import.meta.url), "utf8");
const EXAMPLE = /```ts\n([\s\S]*?)```/.exec(README)?.[1] ?? "";
const LISTEN = 'app.listen(0, "127.0.0.1", function () { console.log(this.address().port); });';

test("the README's example prices its route and no other", async () => {
  const seller = spawn(process.execPath, ["--input-type=module", "--eval", EXAMPLE + LISTEN], {
    cwd: new URL("../..", import.meta.url),
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void seller.kill());
  const [port] = (await once(createInterface({ input: seller.stdout }), "line")) as [string];

  const { status, challenge } = await pay(`http://127.0.0.1:${port}/weather/paris`);
  expect(status).toBe(402);
  expect(challenge?.accepts).toMatchObject([{ amount: "1000", network: "eip155:84532" }]);
  expect((await pay(`http://127.0.0.1:${port}/`)).status).toBe(404);
});
