/**
 * Processes of Node that tell where they listen, ask, and take orders.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Processes outlive one that is interrupted, unless it ends them. */
export const endWithUs = new Set<() => void>();
process.once("exit", () => {
  for (const end of endWithUs) end();
});

/** What a process says: that it listens, the end of an order, or a question. */
interface Message {
  readonly kind?: string;
  readonly about?: unknown;
  readonly id?: number;
  readonly replyTo?: number;
  readonly done?: unknown;
  readonly problem?: string;
}

/** A process. */
export interface Process {
  readonly child: ChildProcess;
  /** What it says when it listens: a port, or a URL. */
  readonly place: string;
  readonly ended: Promise<unknown>;
  /** Rejects if the process fails or ends. */
  order(name: string, given?: unknown): Promise<unknown>;
}

/** Answers a question of a process; `undefined`: the process is not to go on. */
export type Answer = (kind: string, about: unknown) => Promise<{ readonly result: unknown } | undefined>;

/** Starts a script of this folder, and waits until it listens. */
export async function startProcess(
  script: string,
  given: object,
  answer: Answer = async () => undefined,
): Promise<Process> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [JSON.stringify(given)], {
    // Without those of vitest.
    execArgv: [],
  });
  const ended = once(child, "exit");
  const end = () => void child.kill("SIGKILL");
  endWithUs.add(end);
  void ended.then(() => endWithUs.delete(end));
  const orders = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  void ended.then(() => {
    for (const { reject } of orders.values()) reject(new Error("the process has ended"));
  });
  const place = await new Promise<string>((resolve, reject) => {
    void ended.then(([code, signal]) => reject(new Error(`${script} ended with ${code ?? signal}`)));
    child.on("message", ({ kind, about, id, replyTo, done, problem }: Message) => {
      if (replyTo !== undefined) {
        const { resolve: end, reject: fail } = orders.get(replyTo) ?? {};
        orders.delete(replyTo);
        if (problem === undefined) end?.(done);
        else fail?.(new Error(problem));
      } else if (kind === "listening") resolve(String(about));
      else if (kind !== undefined) {
        void answer(kind, about).then((answered) => {
          if (answered !== undefined && child.connected) child.send({ id, result: answered.result }, () => {});
        });
      }
    });
  });
  return {
    child,
    place,
    ended,
    order(name, value) {
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        if (!child.connected) return void reject(new Error("the process has ended"));
        orders.set(id, { resolve, reject });
        child.send({ id, order: name, given: value }, () => {});
      });
    },
  };
}
