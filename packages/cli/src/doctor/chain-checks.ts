/**
 * Asks nodes whether they are of their chain, and whether the payees of offers can be paid.
 *
 * @module
 */
import { createRpcNode, type PaymentRequirements, RpcError, type RpcNode } from "@farebox/core";
import { canonicalNetwork, isJsonObject, sameNetwork } from "@farebox/core/protocol";
import { type Diagnosis, diagnose } from "./diagnoses.js";
import { familyOf, SCHEMES } from "./offers.js";

/** A node to ask. */
export interface NamedNode {
  readonly network: string;
  readonly rpc: RpcNode;
}

const BEHIND_MS = 5 * 60_000;

/** Opens nodes by network and URL. @throws ConfigError if one is no URL */
export function openNodes(urls: ReadonlyMap<string, string>, timeoutMs: number): readonly NamedNode[] {
  const deadlineMs = Math.min(timeoutMs, 120_000);
  return [...urls].map(([network, url]) => ({ network, rpc: createRpcNode(url, { deadlineMs }) }));
}

/** Checks nodes, and the payees and assets of the offers on their networks. */
export async function checkChains(
  nodes: readonly NamedNode[],
  offers: readonly PaymentRequirements[],
  nowMs: number,
): Promise<readonly Diagnosis[]> {
  const found = await Promise.all(
    nodes.map(async (node) => {
      const own = uniquePayees(offers.filter(({ network }) => sameNetwork(network, node.network)));
      if (familyOf(node.network) === "eip155") return checkEvm(node, own, nowMs);
      return (await Promise.all(own.map((offer) => checkPayee(node, offer)))).flat();
    }),
  );
  return found.flat();
}

function uniquePayees(offers: readonly PaymentRequirements[]): readonly PaymentRequirements[] {
  return [...new Map(offers.map((offer) => [`${offer.asset} ${offer.payTo}`, offer])).values()];
}

/** As the seller checks payees at start-up. */
async function checkPayee(
  { network, rpc }: NamedNode,
  { asset, payTo }: PaymentRequirements,
): Promise<readonly Diagnosis[]> {
  const scheme = SCHEMES[familyOf(network)];
  if (scheme?.checkPayee === undefined) return [];
  const subject = `${payTo} on ${network}`;
  const check = await scheme.checkPayee({ network: canonicalNetwork(network), asset, payTo, rpc });
  if (check.kind === "payable") return [];
  if (check.kind === "unclear") {
    const isOther = /\bnot of\b/.test(check.problem);
    return [
      diagnose(isOther ? "NODE_WRONG_CHAIN" : "NODE_UNCLEAR", subject, {
        message: `The payee could not be checked: ${check.problem}`,
      }),
    ];
  }
  const { problem, remedy } = check;
  return [diagnose("PAYEE_UNPAYABLE", subject, { message: `The payee cannot be paid: ${problem}`, remedy })];
}

async function checkEvm(
  { network, rpc }: NamedNode,
  offers: readonly PaymentRequirements[],
  nowMs: number,
): Promise<readonly Diagnosis[]> {
  try {
    const chain = `eip155:${BigInt(String(await rpc.call("eth_chainId", [])))}`;
    if (chain !== network) {
      return [diagnose("NODE_WRONG_CHAIN", network, { message: `The node is of ${chain}, and not of ${network}` })];
    }
    const block = await rpc.call("eth_getBlockByNumber", ["latest", false]);
    const seconds = isJsonObject(block) ? Number(block["timestamp"]) : Number.NaN;
    const behindMs = nowMs - seconds * 1000;
    const isBehind = !(behindMs <= BEHIND_MS);
    const behind = isBehind
      ? [
          diagnose("NODE_BEHIND", network, {
            message: `The node's newest block is ${Math.round(behindMs / 1000)} seconds old`,
          }),
        ]
      : [];
    return [...behind, ...(await Promise.all(offers.map((offer) => checkToken(rpc, offer)))).flat()];
  } catch (error) {
    const why = error instanceof RpcError ? error.message : "its response is unreadable";
    return [diagnose("NODE_UNREACHABLE", network, { message: `The node cannot be used: ${why}` })];
  }
}

/** `name()`, `version()`, `transfer(address,uint256)` */
const [NAME, VERSION, TRANSFER] = ["0x06fdde03", "0x54fd4d50", "0xa9059cbb"];

async function checkToken(
  rpc: RpcNode,
  { asset, payTo, network, scheme, extra }: PaymentRequirements,
): Promise<readonly Diagnosis[]> {
  const subject = `${asset} on ${network}`;
  const code = await rpc.call("eth_getCode", [asset, "latest"]);
  if (code === "0x") return [diagnose("ASSET_MISSING", subject)];
  const found: Diagnosis[] = [];
  // Nothing is moved: tokens that refuse a payee, such as a blocked one, refuse an amount of zero, too.
  const data = `${TRANSFER}${payTo.slice(2).toLowerCase().padStart(64, "0")}${"0".repeat(64)}`;
  if (!(await isAccepted(rpc, [{ from: payTo, to: asset, data }, "latest"]))) {
    found.push(
      diagnose("PAYEE_UNPAYABLE", `${payTo} on ${network}`, {
        message: `The asset ${asset} refuses a transfer to the payee`,
        remedy: "Look whether the token is paused, or has blocked this address",
      }),
    );
  }
  if (scheme === "exact" && extra?.["assetTransferMethod"] !== "permit2") {
    for (const [field, selector] of [
      ["name", NAME],
      ["version", VERSION],
    ] as const) {
      const [said, real] = [extra?.[field], await readString(rpc, asset, selector)];
      if (real === undefined || typeof said !== "string" || said === real) continue;
      const message = `extra.${field} is ${JSON.stringify(said)}, and the contract says ${JSON.stringify(real)}`;
      found.push(diagnose("TOKEN_DOMAIN", subject, { message }));
    }
  }
  return found;
}

async function isAccepted(rpc: RpcNode, params: readonly unknown[]): Promise<boolean> {
  try {
    await rpc.call("eth_call", params);
    return true;
  } catch (error) {
    if (error instanceof RpcError && error.problem === "refused") return false;
    throw error;
  }
}

/** A text that a contract returns; `undefined`: it has no such function. */
async function readString(rpc: RpcNode, to: string, selector: string | undefined): Promise<string | undefined> {
  let result: unknown;
  try {
    result = await rpc.call("eth_call", [{ to, data: selector }, "latest"]);
  } catch (error) {
    if (error instanceof RpcError && error.problem === "refused") return undefined;
    throw error;
  }
  const bytes =
    typeof result === "string" && /^0x([0-9a-f]{2})*$/i.test(result) ? Buffer.from(result.slice(2), "hex") : undefined;
  // An offset, a length, and the text.
  if (bytes === undefined || bytes.length < 64) return undefined;
  const length = bytes.readUInt32BE(60);
  return length <= bytes.length - 64 ? bytes.subarray(64, 64 + length).toString("utf8") : undefined;
}
