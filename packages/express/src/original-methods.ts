/**
 * What a response could do before it was taken over.
 *
 * @module
 */
import type { ServerResponse } from "node:http";

/** Node's own methods, or those of middleware that came before. */
export type Originals = Pick<ServerResponse, "writeHead" | "flushHeaders" | "write" | "end">;

/** Takes them, bound, as they are now. */
export function takeOriginals(res: ServerResponse): Originals {
  return {
    writeHead: res.writeHead.bind(res),
    flushHeaders: res.flushHeaders.bind(res),
    write: res.write.bind(res),
    end: res.end.bind(res),
  };
}
