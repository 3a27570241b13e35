/**
 * The frame of the command line: help, wrong calls, errors, colours, Ctrl-C, completion.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../packages/cli/src/commands.js";
import { CliError } from "../../packages/cli/src/frame/cli-error.js";
import { type Command, type CommandEntry, defineCommand } from "../../packages/cli/src/frame/command.js";
import { printable } from "../../packages/cli/src/frame/terminal.js";
import { runFarebox } from "./run-farebox.js";

const PROGRAM = new URL("../../packages/cli/dist/farebox.js", import.meta.url).pathname;

function entryOf(command: Command): CommandEntry {
  return { name: command.name, summary: command.summary, load: async () => ({ command }) };
}

const echo = defineCommand({
  name: "echo",
  summary: "Prints its call",
  usage: "[options] <word> ...",
  options: {
    max: { type: "string", value: "amount", default: "$0.05", description: "The most to pay" },
    rpc: { type: "string", multiple: true, description: "A node" },
    mode: { type: "string", choices: ["a", "b"], description: "How" },
    json: { type: "boolean", description: "Prints JSON" },
  },
  run({ options, args, rest, terminal }) {
    terminal.progress("working");
    terminal.printJson({ options, args, rest });
    terminal.print(terminal.style("green", "done"));
    return 0;
  },
});
const commands = [entryOf(echo)];

describe("arguments", () => {
  test("become options, words and what stands behind --", async () => {
    const { code, out } = await runFarebox(
      ["echo", "one", "--max=$1", "--rpc", "x", "two", "--rpc=-y", "--json", "--", "node", "--flag"],
      { commands },
    );
    expect(code).toBe(0);
    expect(JSON.parse(out.split("\n")[0] as string)).toEqual({
      options: { max: "$1", rpc: ["x", "-y"], json: true },
      args: ["one", "two"],
      rest: ["node", "--flag"],
    });
  });

  test("have their defaults", async () => {
    const { out } = await runFarebox(["echo"], { commands });
    expect(JSON.parse(out.split("\n")[0] as string).options).toEqual({ max: "$0.05", rpc: [], json: false });
  });

  test.each([
    [["echo", "--maxx", "1"], /there is no option "--maxx"\n {2}Write --max \[FAREBOX_CLI_USAGE]/],
    [["echo", "--constructor"], /there is no option "--constructor"/],
    [["echo", "--__proto__=1"], /there is no option "--__proto__"/],
    [["echo", "--max"], /--max needs a value/],
    [["echo", "--max", "--mode"], /--max needs a value/],
    [["echo", "--json=yes"], /--json takes no value/],
    [["echo", "--mode", "c"], /--mode is a or b, not "c"/],
    [["ecko"], /there is no command "ecko"\n {2}Write farebox echo/],
    [["\u001b[2Jx"], /there is no command "\\u001b\[2Jx"/],
    [["help", "nothing-like-it"], /there is no command/],
  ])("that are wrong exit with 2 and a remedy: %j", async (argv, message) => {
    const { code, out, err } = await runFarebox(argv, { commands });
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(message);
  });

  test("of a command of two words find the longest name", async () => {
    const report = { ...echo, name: "ledger report" };
    const both = [entryOf({ ...echo, name: "ledger" }), entryOf(report)];
    expect((await runFarebox(["ledger", "report", "--help"], { commands: both })).out).toMatch(
      /^Usage: farebox ledger report /,
    );
    expect((await runFarebox(["ledger", "x", "--help"], { commands: both })).out).toMatch(/^Usage: farebox ledger \[/);
    const { code, err } = await runFarebox(["ledger"], { commands: [entryOf(report)] });
    expect(code).toBe(2);
    expect(err).toMatch(/needs the name of what to do\n {2}Write one of farebox ledger report/);
  });
});

describe("help", () => {
  test("of farebox names every command", async () => {
    const { code, out } = await runFarebox(["--help"]);
    expect(code).toBe(0);
    for (const { name, summary } of COMMANDS) expect(out).toMatch(new RegExp(`^  ${name} .*${summary}`, "m"));
  });

  test.each(COMMANDS.map(({ name }) => name))("of %s has its options, by --help and by help", async (name) => {
    const { command } = await COMMANDS.find((each) => each.name === name)!.load();
    expect(command.name).toBe(name);
    const asked = await runFarebox([...name.split(" "), "--help"]);
    expect(asked).toMatchObject({ code: 0, err: "" });
    expect(await runFarebox(["help", ...name.split(" ")])).toEqual(asked);
    for (const option of Object.keys(command.options)) expect(asked.out).toContain(`--${option}`);
  });

  test("comes with 2 when nothing was asked", async () => {
    const { code, out, err } = await runFarebox([]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/^Usage: farebox <command>/);
  });

  test("has the version", async () => {
    expect(await runFarebox(["--version"])).toEqual({ code: 0, out: "1.2.3\n", err: "" });
  });
});

describe("errors", () => {
  const failing = (error: unknown) =>
    entryOf({
      ...echo,
      name: "fail",
      run() {
        throw error;
      },
    });

  test("are one sentence, a remedy and a code", async () => {
    const error = new CliError("FAREBOX_CLI_X", "the server at \u001b[31mred is gone", "Start it");
    const { code, out, err } = await runFarebox(["fail"], { commands: [failing(error)] });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toBe("farebox fail: the server at \\u{1b}[31mred is gone\n  Start it [FAREBOX_CLI_X]\n");
  });

  test("are JSON, too, with --json", async () => {
    const error = new CliError("FAREBOX_CLI_X", "it is gone", "Start it");
    const { out } = await runFarebox(["fail", "--json"], { commands: [failing(error)] });
    expect(JSON.parse(out)).toEqual({ error: { code: "FAREBOX_CLI_X", message: "it is gone", remedy: "Start it" } });
  });

  test("that nobody expected have no stack, unless it is asked for", async () => {
    const quiet = await runFarebox(["fail"], { commands: [failing(new TypeError("x is no function"))] });
    expect(quiet).toMatchObject({ code: 1, out: "" });
    expect(quiet.err).toMatch(/x is no function\n.+\[FAREBOX_CLI_UNEXPECTED]\n$/);
    const loud = await runFarebox(["fail"], { commands: [failing(new TypeError("x"))], env: { FAREBOX_DEBUG: "1" } });
    expect(loud.err).toMatch(/\n {4}at /);
  });
});

describe("a terminal", () => {
  test("has colours and progress", async () => {
    const { out, err } = await runFarebox(["echo"], { commands, isTTY: true });
    expect(out).toContain("\u001b[32mdone\u001b[39m");
    expect(err).toBe("\u001b[2mworking\u001b[22m\r\u001b[2K");
  });

  test.each([[{ NO_COLOR: "1" }], [{ TERM: "dumb" }], [{ NO_COLOR: "1", FORCE_COLOR: "1" }]])(
    "has no colours with %j",
    async (env) => {
      expect((await runFarebox(["echo"], { commands, isTTY: true, env })).out).toContain("\ndone\n");
    },
  );

  test("that is a file has neither, unless FORCE_COLOR is set", async () => {
    expect(await runFarebox(["echo"], { commands })).toMatchObject({
      err: "",
      out: expect.stringContaining("\ndone\n"),
    });
    const { out } = await runFarebox(["echo"], { commands, env: { FORCE_COLOR: "1" } });
    expect(out).toContain("\u001b[32mdone");
  });

  test("gets no text that acts on it", () => {
    expect(printable("a\u001b]0;title\u0007\r\n\u202eb\u2028\u200b\ud800é漢")).toBe(
      "a\\u{1b}]0;title\\u{7}\\u{d}\\u{a}\\u{202e}b\\u{2028}\\u{200b}\\u{d800}é漢",
    );
    expect(printable("x".repeat(1000))).toHaveLength(401);
  });
});

describe("Ctrl-C", () => {
  const waiting = (cleansUp: boolean) =>
    entryOf({
      ...echo,
      name: "wait",
      cleansUp,
      run: ({ signal }) =>
        new Promise<number>((resolve) => signal.addEventListener("abort", () => resolve(cleansUp ? 0 : 99))),
    });

  test("ends a command that cleans up when it has done so", async () => {
    const ran = runFarebox(["wait"], {
      commands: [waiting(true)],
      onInterruptible: (interrupt) => setImmediate(interrupt),
    });
    expect((await ran).code).toBe(0);
  });

  test("ends a command that never ends with 130, the second time at the latest", async () => {
    const deaf = entryOf({ ...echo, name: "deaf", cleansUp: true, run: () => new Promise<number>(() => {}) });
    const ran = runFarebox(["deaf"], {
      commands: [deaf],
      onInterruptible(interrupt) {
        setImmediate(interrupt);
        setImmediate(interrupt);
      },
    });
    expect((await ran).code).toBe(130);
  });
});

describe("the program", () => {
  const start = async (...args: string[]) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code, out, err };
  };

  test("prints all of a long text, and its exit code is the command's", async () => {
    const [long, wrong] = await Promise.all([start("completion", "bash"), start("completion", "tcsh")]);
    expect(long).toEqual(await runFarebox(["completion", "bash"]));
    expect(wrong).toMatchObject({ code: 2, out: "" });
  });

  test("ends quietly when nobody reads on", async () => {
    const child = spawn(process.execPath, [PROGRAM, "--version"], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
  });
});

test.skipIf(!existsSync("/bin/bash"))("completion completes commands and options in bash", async () => {
  const { out: script } = await runFarebox(["completion", "bash"]);
  const lines = ["farebox mig", "farebox migrate --w", "farebox migrate --write --d", "farebox "];
  const calls = lines.map((line) => {
    const words = line.split(" ");
    return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _farebox; echo "\${COMPREPLY[@]}"`;
  });
  const { stdout } = spawnSync("/bin/bash", ["-c", [script, ...calls].join("\n")], { encoding: "utf8" });
  const [ofCommand, ofOption, ofMore, all] = stdout.split("\n");
  expect([ofCommand, ofOption, ofMore]).toEqual(["migrate", "--write", "--depth --dry-run"]);
  expect(all?.split(" ")).toContain("completion");
});
