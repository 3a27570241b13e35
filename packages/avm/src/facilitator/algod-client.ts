/**
 * Questions to a node over its REST interface: one question, one answer, and a bound on everything a node does.
 *
 * @module
 */
import { isJsonObject, type JsonObject, parseJson } from "@farebox/core";
import { ChainError } from "./chain-error.js";

/** Asks one node. */
export interface AlgodClient {
  /**
   * Yields the object that a path has; `undefined` where there is nothing (404).
   *
   * @throws {@link ChainError} when there is no answer; it quotes neither the URL nor the node
   */
  get(path: string): Promise<JsonObject | undefined>;
  /** Yields the object that is said about some bytes. @throws {@link ChainError} as {@link AlgodClient.get} */
  post(path: string, body: Uint8Array): Promise<JsonObject>;
}

/** Where a node is, and how long to wait for it. */
export interface AlgodClientOptions {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly token: string | undefined;
  /** For the whole answer, head and body. */
  readonly deadlineMs: number;
}

/** What is tried out is told in some kilobytes a transaction. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Creates a client. Nothing is asked before the first call, and no redirect is followed. */
export function createAlgodClient({ baseUrl, token, deadlineMs }: AlgodClientOptions): AlgodClient {
  const headers = { accept: "application/json", ...(token === undefined ? {} : { "x-algo-api-token": token }) };

  async function ask(path: string, init: RequestInit): Promise<JsonObject | undefined> {
    const signal = AbortSignal.timeout(deadlineMs);
    const response = await fetch(baseUrl + path, { ...init, redirect: "manual", signal });
    if (response.ok) return readBody(response);
    // Not waited for: what is left of the body, or fails in it, is of no interest.
    response.body?.cancel().catch(() => {});
    if (response.status === 404) return undefined;
    throw new ChainError(`the node answered with status ${response.status}`);
  }

  async function askOrTell(path: string, init: RequestInit): Promise<JsonObject | undefined> {
    try {
      return await ask(path, init);
    } catch (error) {
      if (error instanceof ChainError) throw error;
      const isLate = error instanceof Error && error.name === "TimeoutError";
      throw new ChainError(
        isLate ? `the node did not answer within ${deadlineMs} ms` : "the node could not be reached",
      );
    }
  }

  return Object.freeze({
    get: (path: string) => askOrTell(path, { headers }),
    async post(path: string, body: Uint8Array) {
      const binary = { ...headers, "content-type": "application/x-binary" };
      const answer = await askOrTell(path, { method: "POST", headers: binary, body });
      if (answer === undefined) throw new ChainError("the node answered with status 404");
      return answer;
    },
  });
}

async function readBody(response: Response): Promise<JsonObject> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY_BYTES) throw new ChainError(`the node's answer is longer than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  const json = parseJson(Buffer.concat(chunks).toString("utf8"));
  if (!json.ok || !isJsonObject(json.value)) throw new ChainError("the node's answer is not one");
  return json.value;
}
