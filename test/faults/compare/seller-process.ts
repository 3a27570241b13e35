/**
 * A seller's process, as the other process sees it.
 *
 * @module
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { SellerArguments, SellerMessage, Usage } from "./seller.js";

/** A seller that was started. */
export interface SellerProcess {
  /** Where it listens. `undefined` when its table was refused, or its process ended before. */
  readonly url: string | undefined;
  /** Resolves when the seller has told, also if it did before. */
  told(event: "working" | "answered"): Promise<void>;
  /** Resolves never when the process has ended. */
  usage(): Promise<Usage>;
  /** All that the seller's process has written so far. */
  log(): string;
  /** Resolves with the exit code if the process ends by itself. */
  readonly ended: Promise<number | null>;
  close(): Promise<void>;
}

/** Starts a seller, and waits for it to listen. */
export async function startSeller(given: SellerArguments): Promise<SellerProcess> {
  const child = fork(new URL("./seller.js", import.meta.url), [JSON.stringify(given)], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (data) => (log += String(data)));
  const messages: SellerMessage[] = [];
  child.on("message", (message) => messages.push(message as SellerMessage));
  const ended = once(child, "exit").then(([code]): number | null => code);

  const receive = async <K extends SellerMessage["kind"]>(
    ...kinds: K[]
  ): Promise<Extract<SellerMessage, { kind: K }>> => {
    for (;;) {
      const at = messages.findIndex(({ kind }) => kinds.includes(kind as K));
      if (at >= 0) return messages.splice(at, 1)[0] as Extract<SellerMessage, { kind: K }>;
      await once(child, "message");
    }
  };
  const started = await Promise.race([receive("listening", "did not start"), ended]);
  const isOpen = started !== null && typeof started === "object" && started.kind === "listening";
  return {
    url: isOpen ? `http://127.0.0.1:${started.port}` : undefined,
    told: async (event) => void (await receive(event)),
    usage: () => {
      // No process is left to respond.
      child.send("usage", () => {});
      return receive("usage");
    },
    log: () => log,
    ended,
    close: async () => {
      child.kill("SIGKILL");
      await Promise.race([ended, delay(5_000)]);
    },
  };
}
