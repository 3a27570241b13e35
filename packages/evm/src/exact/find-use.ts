/**
 * Looks for the log by which an authorization was used up, the newest blocks first.
 *
 * @see EIP-3009, `AuthorizationUsed` and `AuthorizationCanceled`
 * @module
 */
import { RpcError } from "@farebox/core";
import { addressWord } from "../abi-words.js";
import type { Ask, Log, LogFilter } from "../node/node-questions.js";
import { type LogStretch, scanLogs } from "../node/scan-logs.js";
import { AUTHORIZATION_CANCELED, AUTHORIZATION_USED } from "./eip3009-wire.js";

/** Which authorization, and where to look for it. */
export interface UseSearch extends LogStretch {
  readonly asset: string;
  readonly authorizer: string;
  readonly nonce: string;
}

/** Yields the only log that says that the nonce was used or cancelled; `undefined` when there is none in these blocks. */
export async function findUse(ask: Ask, search: UseSearch): Promise<Log | undefined> {
  for await (const logs of scanLogs(ask, filterFor(search), search)) {
    if (logs.length > 0) return onlyOne(logs);
  }
  return undefined;
}

function filterFor({ asset, authorizer, nonce }: UseSearch): LogFilter {
  return {
    address: asset,
    topics: [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], addressWord(authorizer), nonce.toLowerCase()],
  };
}

/** A nonce is used or cancelled once; two such logs are a token, or a node, whose word counts for nothing. */
function onlyOne(logs: readonly Log[]): Log | undefined {
  if (logs.length === 1) return logs[0];
  throw new RpcError("node says that one nonce was used more than once", "unreadable");
}
