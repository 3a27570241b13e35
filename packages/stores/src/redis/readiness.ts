/**
 * Checks of the Redis server: whether the store can use it, and whether it may lose records later.
 *
 * @module
 */
import { StoreError, type StoreProblem } from "@farebox/core";

/** Older ones do not run scripts as the store writes them. */
const OLDEST = 6;

/** What `INFO` said, by field. */
export type ServerInfo = ReadonlyMap<string, string>;

/** Reads the response to `INFO`: lines such as `redis_version:7.0.15`. */
export function readInfo(text: string): ServerInfo {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(":"));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]));
}

/**
 * Checks what `INFO` said. A field that a server leaves out is not checked.
 *
 * @param appendFsync - The setting `appendfsync`, if the server tells it.
 * @throws StoreError if the server cannot be used
 */
export function checkServer(info: ServerInfo, appendFsync: string | undefined): readonly StoreProblem[] {
  const version = info.get("redis_version");
  if (version !== undefined && Number.parseInt(version, 10) < OLDEST) {
    throw new StoreError(`the Redis server is version ${version}: use version ${OLDEST} or later`);
  }
  const isReplica = info.get("role") === "slave";
  if (isReplica && info.get("slave_read_only") === "1") {
    throw new StoreError("the Redis server is a read-only replica: connect to its primary");
  }
  const problems: StoreProblem[] = [];
  const policy = info.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    problems.push({ kind: "EVICTION", detail: `maxmemory-policy is ${policy}; set it to noeviction` });
  }
  if (info.get("aof_enabled") === "0") {
    const detail = "appendonly is no, so a restart loses what was written last; set it to yes";
    problems.push({ kind: "NOT_DURABLE", detail });
  } else if (appendFsync === "no") {
    problems.push({ kind: "NOT_DURABLE", detail: "appendfsync is no; set it to everysec or always" });
  }
  if (isReplica) {
    problems.push({ kind: "REPLICA", detail: "the server is a replica, and lags behind; connect to its primary" });
  }
  return problems;
}

/** Adds to the text of an error what to do about it. */
export function adviceFor(text: string): string {
  const advice = ADVICE.find(([pattern]) => pattern.test(text));
  return advice === undefined ? text : `${text}: ${advice[1]}`;
}

const ADVICE: readonly (readonly [text: RegExp, advice: string])[] = [
  [/^NOAUTH|^WRONGPASS/, "give the client a user name and a password"],
  [
    /^NOPERM/,
    "the user needs the commands eval, evalsha and publish, and those that write hashes, sorted sets and texts",
  ],
  [/^READONLY/, "connect to the primary, not to a replica"],
  [/^OOM/, "give the server more memory, with maxmemory-policy noeviction"],
  [/client is closed/i, "call `await client.connect()` before the first payment"],
  [/ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT|ECONNRESET/, "check that the server runs, and the URL of the client"],
  [/^ERR unknown command/, "the server must be Redis 6 or later, or Valkey"],
];
