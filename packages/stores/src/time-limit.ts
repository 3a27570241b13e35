/**
 * The time limit of calls to a server: a server that hangs must not hold up requests without end.
 *
 * @module
 */
import { StoreError } from "@farebox/core";

/** What happens to a call that takes too long. */
export interface TimeLimit<T> {
  readonly limitMs: number;
  /** The server, for the message, e.g. `Redis`. */
  readonly server: string;
  /** Called when the time is over, e.g. to take the call out of a queue. */
  readonly onTimeout?: () => void;
  /** Called with a result that came too late. */
  readonly onLate?: (value: T) => void;
}

/** Returns the result of a call, or rejects when its time is over. The call may still take effect later. */
export function withinLimit<T>(call: PromiseLike<T>, limit: TimeLimit<T>): Promise<T> {
  const { limitMs, server, onTimeout, onLate } = limit;
  return new Promise<T>((resolve, reject) => {
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      onTimeout?.();
      reject(new StoreError(`${server} did not respond within ${limitMs} ms: check that it runs and can be reached`));
    }, limitMs);
    call.then(
      (value) => {
        clearTimeout(timer);
        if (isOver) onLate?.(value);
        else resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        if (!isOver) reject(error);
      },
    );
  });
}

/** The text of an error, whatever was thrown. An `AggregateError` of Node, for a host with several addresses, has no text of its own. */
export function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(textOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
