/**
 * Runs the command line in this process, as `farebox <args>` would. Its time limits end when the test lets time pass.
 *
 * @module
 */
import { COMMANDS } from "../../packages/cli/src/commands.js";
import type { Clock } from "../../packages/cli/src/frame/clock.js";
import type { CommandEntry } from "../../packages/cli/src/frame/command.js";
import { runCommandLine } from "../../packages/cli/src/frame/run.js";
import { Terminal } from "../../packages/cli/src/frame/terminal.js";
import { createDrivenClock } from "./driven-clock.js";

/** What a run printed, and its exit code. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly isTTY?: boolean;
  readonly commands?: readonly CommandEntry[];
  /** Default: one of its own. */
  readonly clock?: Clock;
  /** Gets each text for stderr when it is written. */
  readonly onError?: (text: string) => void;
  /** Gets a function that does what Ctrl-C does. */
  readonly onInterruptible?: (interrupt: () => void) => void;
}

/** Runs a call. */
export async function runFarebox(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const {
    env = {},
    isTTY = false,
    commands = COMMANDS,
    clock = createDrivenClock(),
    onError,
    onInterruptible,
  } = options;
  const [out, err]: [string[], string[]] = [[], []];
  const stdout = { isTTY, write: (text: string) => void out.push(text) };
  const stderr = {
    isTTY,
    write(text: string) {
      err.push(text);
      onError?.(text);
    },
  };
  const code = await runCommandLine(argv, {
    commands,
    version: "1.2.3",
    terminal: new Terminal({ stdout, stderr, env }),
    env,
    clock,
    onInterrupt(listener) {
      onInterruptible?.(listener);
      return () => {};
    },
  });
  return { code, out: out.join(""), err: err.join("") };
}
