/**
 * A promise that somebody else opens.
 *
 * @module
 */

/** Opened once; opening it again does nothing. */
export interface Latch {
  readonly opened: Promise<void>;
  open(): void;
}

/** Creates a latch that is closed. */
export function createLatch(): Latch {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
