/**
 * Reads server-sent events by `fetch`. An `EventSource` sends no headers, so it cannot pay.
 *
 * @module
 */

/** One event. */
export interface ServerEvent {
  /** `message` if the server gave it no name. */
  readonly event: string;
  readonly data: string;
}

/** Reads the events of a response as they come. The server writes them with `\n`. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  if (response.body === null) return;
  let open = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (open + text).split("\n\n");
    open = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = readEvent(block);
      if (event !== undefined) yield event;
    }
  }
}

/** Comments and empty blocks are no events. */
function readEvent(block: string): ServerEvent | undefined {
  const fields = block.split("\n").map((line) => line.split(/: ?(.*)/s));
  const valuesOf = (name: string) => fields.filter(([key]) => key === name).map(([, value = ""]) => value);
  const data = valuesOf("data");
  return data.length === 0 ? undefined : { event: valuesOf("event").at(-1) ?? "message", data: data.join("\n") };
}
