/**
 * Looks at a body on its way from the connection to whoever reads it.
 *
 * Nothing here reads: a listener for `data` or `readable`, or a call of `read`, would begin what only one can do, and be seen
 * by the others (`readableDidRead`, which `fetch` asks before it sends a request on; and Node drops an unread body when the
 * response is over, but not one that somebody has begun to read). Node's parser hands each piece to the request's own `push`,
 * and stops the connection when that returns false. So a `push` of our own sees every piece, and decides how much is read
 * ahead.
 *
 * @module
 */
import type { Request } from "express";
import type { BodyHash } from "./body-hash.js";

/**
 * Yields what has come of a body so far and waits to be read, without taking it.
 *
 * @returns `undefined` if it cannot be told, because somebody has read of it or has it decoded, or because whoever made this
 *   request (an adapter for functions as a service, say) has put the body elsewhere.
 */
export function peekBody(req: Request): readonly Uint8Array[] | undefined {
  if (req.readableDidRead || req.readableEncoding !== null) return undefined;
  const { readableBuffer = [] } = req as Request & { readonly readableBuffer?: Iterable<unknown> };
  const chunks = [...readableBuffer].filter((chunk) => chunk instanceof Uint8Array);
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const isWhole = size === req.readableLength && (!req.complete || isAsDeclared(req, size));
  return isWhole ? chunks : undefined;
}

function isAsDeclared({ headers }: Request, size: number): boolean {
  const declared = headers["content-length"];
  return declared === undefined || Number(declared) === size;
}

/**
 * Adds to the hash what is still to come, while it goes on to where it was going.
 *
 * @returns When all is here, or more than is looked at: true. When the client has left, or the response is over: false.
 */
export function observeBody(req: Request, hash: BodyHash): Promise<boolean> {
  const { res } = req;
  return new Promise((resolve) => {
    const end = (isSeen: boolean) => {
      release();
      req.off("close", leave);
      res?.off("close", leave);
      resolve(isSeen);
    };
    const leave = () => end(false);
    const release = watchPush(req, (chunk) => {
      if (chunk instanceof Uint8Array) hash.add(chunk);
      if (chunk === null) end(isAsDeclared(req, hash.size()));
      else if (hash.isFull()) end(true);
    });
    req.once("close", leave);
    // Of a response that was over before the body, the request does not hear.
    res?.once("close", leave);
    // The connection stands still if more had come before us than the request reads ahead by itself.
    req.socket.resume();
  });
}

/** Has each piece looked at as it comes, and asks for more, until it is released. */
function watchPush(req: Request, look: (chunk: unknown) => void): () => void {
  const hadOwn = Object.hasOwn(req, "push");
  const { push } = req;
  let isReleased = false;
  const watched: typeof push = (chunk, encoding) => {
    if (!isReleased) look(chunk);
    return push.call(req, chunk, encoding) || !isReleased;
  };
  req.push = watched;
  return () => {
    isReleased = true;
    // Whoever has put a `push` of theirs over ours goes on to call it.
    if (req.push !== watched) return;
    if (hadOwn) req.push = push;
    else Reflect.deleteProperty(req, "push");
  };
}
