/**
 * `farebox init`: writes a first server and a test for it.
 *
 * @module
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { CliError, wrongCall } from "../frame/cli-error.js";
import { type Command, defineCommand } from "../frame/command.js";
import { filesOf } from "./templates.js";

export const command: Command = defineCommand({
  name: "init",
  summary: "Writes a first server that sells one route, and a test that pays for it",
  usage: "[options] [folder]",
  options: {
    language: {
      type: "string",
      choices: ["js", "ts"],
      default: "js",
      description: "JavaScript, or TypeScript for Node 22.18 or later",
    },
    "pay-to": {
      type: "string",
      value: "address",
      description: "Your EVM address, which receives the money; you can write it to .env later",
    },
  },
  details: "Overwrites nothing: if one of the files exists, it writes none.",
  run({ options, args, terminal }) {
    const [folder = "."] = args;
    if (args.length > 1) throw wrongCall("name one folder", "Write farebox init my-api");
    const payTo = options["pay-to"] ?? "";
    if (payTo !== "" && !/^0x[0-9a-fA-F]{40}$/.test(payTo)) {
      throw wrongCall(`--pay-to is no EVM address: ${JSON.stringify(payTo)}`, "Write 0x and 40 hexadecimal digits");
    }
    const home = resolve(folder);
    const language = options.language === "ts" ? "ts" : "js";
    const files = Object.entries(filesOf({ name: nameOf(home), language, payTo }));
    const existing = files.map(([name]) => name).filter((name) => existsSync(join(home, name)));
    if (existing.length > 0) {
      const message = `${existing.join(", ")} ${existing.length === 1 ? "exists" : "exist"} in ${home}`;
      throw new CliError("FAREBOX_CLI_EXISTS", message, "Name another folder");
    }
    write(home, files);
    const where = relative(process.cwd(), home);
    for (const [name] of files) terminal.print(`wrote ${join(where, name)}`);
    terminal.print();
    if (where !== "") terminal.print(`cd ${where}`);
    terminal.print("npm install");
    terminal.print("npm test    # pays for the route, offline");
    terminal.print(payTo === "" ? "npm start   # once PAY_TO in .env is your address" : "npm start");
    return 0;
  },
});

function write(home: string, files: readonly (readonly [string, string])[]): void {
  try {
    makeFolder(home);
    for (const [name, content] of files) writeFileSync(join(home, name), content, { flag: "wx" });
  } catch (cause) {
    const message = `${home} cannot be written: ${(cause as Error).message}`;
    throw new CliError("FAREBOX_CLI_WRITE", message, "Name a folder that you may write", { cause });
  }
}

/** Makes a folder and those above it. `recursive` of Node never returns where a file system has no place for folders, such as `/proc`. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** A name that npm takes. */
function nameOf(home: string): string {
  const words = basename(home)
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const name = words.filter((word) => word !== "").join("-");
  return name === "" ? "paid-api" : name;
}
