/**
 * The option `--rpc network=url` of several commands.
 *
 * @module
 */
import { ConfigError, createRpcNode, type RpcNode } from "@farebox/core";
import { isNetwork, networkByName } from "@farebox/core/protocol";
import { wrongCall } from "../frame/cli-error.js";

/** Opens nodes by network. @throws CliError if one is not named as it should be */
export function openNodes(given: readonly string[], timeoutMs: number): ReadonlyMap<string, RpcNode> {
  const deadlineMs = Math.min(timeoutMs, 120_000);
  return new Map(
    given.map((each) => {
      const at = each.indexOf("=");
      const written = each.slice(0, Math.max(at, 0));
      const network = isNetwork(written) ? written : networkByName(written);
      if (network === undefined) {
        throw wrongCall(
          `--rpc is a network and a URL, not ${JSON.stringify(each)}`,
          "Write --rpc eip155:8453=https://…",
        );
      }
      return [network, open(each.slice(at + 1), deadlineMs)] as const;
    }),
  );
}

function open(url: string, deadlineMs: number): RpcNode {
  try {
    return createRpcNode(url, { deadlineMs });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The URL may hold a key.
    throw wrongCall("--rpc takes http and https URLs", "Write --rpc eip155:8453=https://…");
  }
}
