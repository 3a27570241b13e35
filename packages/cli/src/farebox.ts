#!/usr/bin/env node
/**
 * The command `farebox`.
 *
 * @module
 */
import { runMigrate, USAGE } from "./migrate/command.js";

const [command, ...rest] = process.argv.slice(2);

if (command === "migrate") {
  process.exitCode = runMigrate(
    rest,
    (text) => process.stdout.write(text),
    (text) => process.stderr.write(text),
  );
} else if (command === "--help" || command === "-h" || command === "help") {
  process.stdout.write(USAGE);
} else {
  process.stderr.write(
    command === undefined ? USAGE : `farebox: there is no command ${JSON.stringify(command)}\n\n${USAGE}`,
  );
  process.exitCode = 2;
}
