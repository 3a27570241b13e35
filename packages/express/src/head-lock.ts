/**
 * The head of a response whose answer is complete, while its payment settles: what is done to it meanwhile does not count.
 *
 * To lock it takes less than to put it back: Node needs longer to name the headers of a response than to set them.
 *
 * @module
 */
import type { ServerResponse } from "node:http";

type Changes = Pick<ServerResponse, "setHeader" | "appendHeader" | "removeHeader">;

/** Whoever is late finds nothing to change, and nothing that throws. */
const LOCKED: Changes & ThisType<ServerResponse> = {
  setHeader() {
    return this;
  },
  appendHeader() {
    return this;
  },
  removeHeader() {},
};

/** Keeps a head as it is. */
export class HeadLock {
  readonly #res: ServerResponse;
  readonly #changes: Changes;
  readonly #status: number;
  readonly #statusMessage: string;

  constructor(res: ServerResponse) {
    const { setHeader, appendHeader, removeHeader, statusCode, statusMessage } = res;
    this.#res = res;
    this.#changes = { setHeader, appendHeader, removeHeader };
    this.#status = statusCode;
    this.#statusMessage = statusMessage;
    put(res, LOCKED);
  }

  /** From here on it can be changed. */
  open(): void {
    const res = this.#res;
    put(res, this.#changes);
    res.statusCode = this.#status;
    res.statusMessage = this.#statusMessage;
  }
}

function put(res: ServerResponse, { setHeader, appendHeader, removeHeader }: Changes): void {
  res.setHeader = setHeader;
  res.appendHeader = appendHeader;
  res.removeHeader = removeHeader;
}
