/** Something that a test waits for. */
export interface Latch {
  /** Resolves once it is opened, also when it was opened before. */
  readonly opened: Promise<void>;
  open(): void;
}

export function createLatch(): Latch {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
