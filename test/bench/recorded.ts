/**
 * An answer as it came over the wire, so that bare Express can give the same bytes.
 *
 * @module
 */
import { request } from "node:http";

/** Status, head and body. */
export interface Recorded {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What Node writes by itself, on every side. */
const WRITTEN_BY_NODE = new Set(["connection", "keep-alive", "date", "content-length", "transfer-encoding"]);

/** Asks once, and keeps what came. */
export function record(url: string, headers: Record<string, string> = {}): Promise<Recorded> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => {
        const kept = Object.entries(answer.headers)
          .filter(([name]) => !WRITTEN_BY_NODE.has(name))
          .map(([name, value]) => [name, String(value)] as const);
        const body = Buffer.concat(chunks).toString("utf8");
        resolve({ status: answer.statusCode ?? 0, headers: Object.fromEntries(kept), body });
      });
    });
    asking.on("error", reject);
    asking.end();
  });
}
