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
      reject(
        new StoreError(
          `${server} did not respond within ${limitMs} ms: check that it runs and can be reached, and that the client is connected`,
        ),
      );
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

/**
 * The text of an error, whatever was thrown. One for a host with several addresses has no text of its own, but a list of errors. Others
 * have a code or a cause.
 */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  const parts: unknown = Reflect.get(error, "errors");
  if (Array.isArray(parts) && parts.length > 0) return parts.map(textOf).join("; ");
  if (error.cause instanceof Error) return textOf(error.cause);
  return String(Reflect.get(error, "code") ?? error.name);
}
