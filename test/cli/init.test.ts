/**
 * `farebox init`: what it writes runs, and its test passes.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { ROOT } from "../docs/markdown.js";
import { runFarebox } from "./run-farebox.js";

const run = promisify(execFile);
const home = mkdtempSync(join(tmpdir(), "farebox-init-"));
const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const runsTypeScript = major > 22 || (major === 22 && minor >= 18);

afterAll(() => rmSync(home, { recursive: true }));

/** Writes a project, with the packages of this repository in its node_modules. */
async function init(name: string, ...options: string[]): Promise<string> {
  const folder = join(home, name);
  expect(await runFarebox(["init", folder, ...options])).toMatchObject({ code: 0, err: "" });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

describe.each(["js", ...(runsTypeScript ? ["ts"] : [])])("a project in %s", (language) => {
  test("passes its own test", async () => {
    const folder = await init(`tested-${language}`, "--language", language);
    const { stdout } = await run(process.execPath, ["--test"], { cwd: folder, env: { PATH: process.env["PATH"] } });
    expect(stdout).toMatch(/pass 2\b/);
    expect(stdout).toMatch(/fail 0\b/);
  });
});

test("a project answers 402 once it knows its seller, and does not start before", async () => {
  const folder = await init("started", "--language", "js", "--pay-to", PAY_TO);
  const facilitator = await startFacilitatorServer({ facilitator: createTestFacilitator() });
  onTestFinished(() => facilitator.close());
  // The template prints the port that was asked for.
  const port = await freePort();
  const settings = `FACILITATOR_URL=${facilitator.url}\nPORT=${port}`;
  const env = readFileSync(join(folder, ".env"), "utf8").replace(/FACILITATOR_URL=.*/, settings);
  writeFileSync(join(folder, ".env"), env);
  const args = ["--env-file=.env", "server.js"];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  const [line] = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
  expect(line).toBe(`http://localhost:${port}/weather/paris`);
  expect((await fetch(line)).status).toBe(402);

  writeFileSync(join(folder, ".env"), env.replace(/PAY_TO=.*/, "PAY_TO="));
  const failed = run(process.execPath, args, { cwd: folder });
  await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining("Write your address to .env") });
});

test("overwrites nothing, and then writes nothing", async () => {
  const folder = mkdtempSync(join(home, "full-"));
  writeFileSync(join(folder, "app.js"), "mine");
  const { code, err } = await runFarebox(["init", folder]);
  expect(code).toBe(1);
  expect(err).toMatch(/app\.js exists in .+\n {2}Name another folder \[FAREBOX_CLI_EXISTS]/);
  expect(readdirSync(folder)).toEqual(["app.js"]);
  expect(readFileSync(join(folder, "app.js"), "utf8")).toBe("mine");
});

test.each([
  [["--pay-to", "0x12"], /--pay-to is no EVM address/],
  [["--language", "rust"], /--language is js or ts/],
  [["a", "b"], /name one folder/],
])("refuses %j", async (args, message) => {
  const { code, err } = await runFarebox(["init", ...args]);
  expect(code).toBe(2);
  expect(err).toMatch(message);
});

test.skipIf(process.platform !== "linux")("a folder that nobody can make is told at once", async () => {
  const { code, err } = await runFarebox(["init", "/proc/farebox/deep"]);
  expect(code).toBe(1);
  expect(err).toMatch(/\/proc\/farebox\/deep cannot be written: .+\[FAREBOX_CLI_WRITE]/s);
});

test("gives a folder with an odd name a package name that npm takes", async () => {
  const folder = await init("My Weather (2)!");
  expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).name).toBe("my-weather-2");
});

async function freePort(): Promise<number> {
  const { createServer } = await import("node:net");
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
