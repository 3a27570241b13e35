/**
 * The table of commands. Each is loaded when it is called, so that one command does not wait for what another needs.
 *
 * @module
 */
import type { CommandEntry } from "./frame/command.js";

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "migrate",
    summary: "Moves a file from @x402/express to @farebox/express/compat",
    load: () => import("./migrate/command.js"),
  },
  {
    name: "completion",
    summary: "Prints a script by which a shell completes commands and options",
    load: () => import("./completion/command.js"),
  },
];
