/**
 * Carries out approvals that payers have signed as transactions, over JSON-RPC. The payer is given the coin that it lacks for
 * the gas, and then the approval is sent.
 *
 * The specification wants grant, approval and transfer in one bundle. Nodes accept no bundles, so they go one after the
 * other, each when the one before is on chain. A payer who sends another transaction in between can keep the grant. So grants
 * are limited, and given only after all three were tried together.
 *
 * @see x402 v2, extension `erc20ApprovalGasSponsoring`, "Verification Logic" 2 and 3
 * @module
 */
import {
  encodeFunctionData,
  parseAbi,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from "viem";
import { isSignedByPayer } from "./approvals.js";
import {
  type ApprovalChain,
  type ApprovalTransaction,
  ChainError,
  type Hash,
  isRevert,
  problemOf,
  type SignedPermit,
  type Simulation,
  toChainError,
} from "./chain.js";
import { encodePermitCall } from "./permit.js";
import type { ParsedRpcOptions, ParsedSponsoring, RpcClient } from "./rpc-options.js";
import { broadcast, type Call, waitForReceipt } from "./sender.js";

/** The options, and how the node is asked and transactions are sent. */
interface ApprovalParts {
  readonly options: ParsedRpcOptions;
  readonly sponsoring: ParsedSponsoring;
  ask<T>(question: (client: RpcClient) => Promise<T>): Promise<T>;
  send(call: Call): Promise<Hash>;
  /** Notes what a transaction that was sent has cost. */
  paid(transaction: Hash, receipt: TransactionReceipt): void;
}

/** Creates the part of a chain that carries out approvals. */
export function createRpcApprovals(parts: ApprovalParts): ApprovalChain {
  return new RpcApprovals(parts);
}

class RpcApprovals implements ApprovalChain {
  readonly #parts: ApprovalParts;
  readonly #grants: Grants;
  /** The last approval of each payer, so that they are carried out one at a time. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
    this.#grants = createGrants(parts.sponsoring, Date.now);
  }

  async findFault(approval: ApprovalTransaction): Promise<string | undefined> {
    const { assets } = this.#parts.sponsoring;
    if (assets !== undefined && !assets.has(approval.token)) return "this token is not sponsored";
    if (!(await isSignedByPayer(approval))) return "it is not signed by the payer";
    const state = await this.#parts.ask((client) => askState(client, approval));
    const fault = findStateFault(approval, state) ?? this.#findGrantFault(approval, state);
    // An approval of the payer that is under way may be the reason. The caller looks at the allowance afterwards.
    if (fault !== undefined) await this.#turns.get(approval.from);
    return fault;
  }

  simulate(signed: SignedPermit, approval: ApprovalTransaction, amount: bigint): Promise<Simulation> {
    const { account, maxGas } = this.#parts.options;
    const { from, token: to, data, gas, nonce } = approval;
    const transfer = { from: account.address, ...encodePermitCall(signed, amount) };
    return this.#parts.ask(async (client) => {
      const [block] = await client.simulateBlocks({
        blocks: [
          {
            // As if the payer had the grant already.
            stateOverrides: [{ address: from, balance: 2n ** 100n }],
            calls: [{ from, to, data, gas, nonce }, transfer],
          },
        ],
      });
      const [approved, moved] = block?.calls ?? [];
      if (approved?.status !== "success") return failed("the approval", approved?.error);
      if (moved?.status !== "success") return failed("the transfer", moved?.error);
      const limit = moved.gasUsed + moved.gasUsed / 5n;
      return limit > maxGas ? { ok: false, problem: `it takes ${limit} gas, and maxGas is ${maxGas}` } : { ok: true };
    });
  }

  async carryOut(approval: ApprovalTransaction): Promise<void> {
    const { from } = approval;
    const turn = (this.#turns.get(from) ?? Promise.resolve()).then(() => this.#carryOutInTurn(approval));
    const ended = turn.catch(() => {});
    this.#turns.set(from, ended);
    try {
      await turn;
    } catch (error) {
      throw toChainError(error);
    } finally {
      if (this.#turns.get(from) === ended) this.#turns.delete(from);
    }
  }

  async #carryOutInTurn(approval: ApprovalTransaction): Promise<void> {
    const { ask, options } = this.#parts;
    // Half of the time, so that the rest remains for the transfer.
    const untilMs = performance.now() + options.receiptTimeoutMs / 2;
    const state = await ask((client) => askState(client, approval));
    if (!state.isMined) {
      const fault = findStateFault(approval, state) ?? this.#findGrantFault(approval, state);
      if (fault !== undefined) throw new ChainError(`the approval is not carried out: ${fault}`);
      if (state.lackingWei > 0n) await this.#give(approval, { state, untilMs });
      const delivery = await broadcast(options.client, approval.serialized);
      if (delivery.kind === "refused") throw toChainError(delivery.error);
    }
    await this.#waitFor(approval.hash, { what: "the approval", untilMs });
  }

  #findGrantFault({ from }: ApprovalTransaction, state: ApprovalState): string | undefined {
    return state.lackingWei === 0n ? undefined : this.#grants.findFault(from, costOf(state));
  }

  async #give(
    { from }: ApprovalTransaction,
    { state, untilMs }: { readonly state: ApprovalState; readonly untilMs: number },
  ): Promise<void> {
    // Noted before anything is awaited. If not, many at once would each find enough left.
    const takeBack = this.#grants.note(from, costOf(state));
    const transaction = await this.#parts.send({ to: from, data: "0x", value: state.lackingWei }).catch((error) => {
      takeBack();
      throw error;
    });
    await this.#waitFor(transaction, { what: "the grant for the payer's gas", untilMs });
  }

  async #waitFor(
    transaction: Hash,
    { what, untilMs }: { readonly what: string; readonly untilMs: number },
  ): Promise<void> {
    const receiptTimeoutMs = Math.max(untilMs - performance.now(), 0);
    const receipt = await waitForReceipt({ ...this.#parts.options, confirmations: 1, receiptTimeoutMs }, transaction);
    if (typeof receipt !== "object") throw new ChainError(`${what} is not on chain yet`);
    this.#parts.paid(transaction, receipt);
    if (receipt.status !== "success") throw new ChainError(`${what} failed on chain`);
  }
}

function costOf({ lackingWei, grantFeesWei }: ApprovalState): Cost {
  return { given: lackingWei, fees: grantFeesWei };
}

function failed(what: string, error: unknown): Simulation {
  return { ok: false, problem: `${what} fails: ${error === undefined ? "no reason was given" : problemOf(error)}` };
}

/** The node's view of an approval. */
interface ApprovalState {
  /** Whether it is on chain, successful or not. */
  readonly isMined: boolean;
  /** Whether the network has it, on chain or waiting. */
  readonly isKnown: boolean;
  /** Whether the payer is a contract. */
  readonly hasCode: boolean;
  /** The number of the payer's transactions: on chain, and including those that wait. */
  readonly counts: { readonly mined: number; readonly waiting: number };
  /** Wei for a unit of gas, in the latest block; `undefined` on networks without a base fee. */
  readonly baseFee: bigint | undefined;
  /** The fee that the node suggests, in wei for a unit of gas. */
  readonly usualFee: bigint;
  /** The wei that the payer lacks for the gas. */
  readonly lackingWei: bigint;
  /** The estimated fees of a grant, in wei. */
  readonly grantFeesWei: bigint;
}

/** Payers who have enough coin may sign for any fee. For others the fee is limited to so many times the usual one. */
const MOST_TIMES_USUAL = 4n;

/** The gas of a transfer of the network's coin. */
const GRANT_GAS = 21_000n;

/** On rollups of the OP Stack, this contract knows the cost of the data that goes to the chain below. */
const GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F";
const ORACLE_ABI = parseAbi(["function getL1Fee(bytes transaction) view returns (uint256)"]);

async function askState(client: RpcClient, approval: ApprovalTransaction): Promise<ApprovalState> {
  const { from: address, hash, gas, maxFeePerGas } = approval;
  const [balance, code, mined, waiting, block, usualFee, dataFee, isMined] = await Promise.all([
    client.getBalance({ address }),
    client.getCode({ address }),
    client.getTransactionCount({ address, blockTag: "latest" }),
    client.getTransactionCount({ address, blockTag: "pending" }),
    client.getBlock({ blockTag: "latest" }),
    client.getGasPrice(),
    askDataFee(client, approval),
    isFound(client.getTransactionReceipt({ hash })),
  ]);
  const isKnown = isMined || (waiting > mined && (await isFound(client.getTransaction({ hash }))));
  const needed = gas * maxFeePerGas + dataFee;
  return {
    isMined,
    isKnown,
    hasCode: code !== undefined && code !== "0x",
    counts: { mined, waiting },
    baseFee: block.baseFeePerGas ?? undefined,
    usualFee,
    lackingWei: isKnown || balance >= needed ? 0n : needed - balance,
    grantFeesWei: GRANT_GAS * usualFee + dataFee,
  };
}

/** Why the approval would not be mined, or should not be sponsored, for a log; `undefined` when all is well. */
function findStateFault(
  { nonce, maxFeePerGas }: ApprovalTransaction,
  { isKnown, hasCode, counts, baseFee, usualFee, lackingWei }: ApprovalState,
): string | undefined {
  // A contract's coin can be moved by others, so it could be given a grant again and again.
  if (hasCode) return "the payer's account has code";
  if (counts.mined !== nonce) return `its nonce is ${nonce}, and the payer's next is ${counts.mined}`;
  if (counts.waiting > nonce && !isKnown) return "another transaction of the payer waits with its nonce";
  // The base fee rises by at most an eighth from one block to the next.
  const least = baseFee === undefined ? usualFee : baseFee + baseFee / 8n;
  if (maxFeePerGas < least) return `it pays at most ${maxFeePerGas} wei for a unit of gas, and the fee is ${least}`;
  const most = MOST_TIMES_USUAL * usualFee;
  if (lackingWei > 0n && maxFeePerGas > most) return `it pays ${maxFeePerGas} wei for a unit of gas, more than ${most}`;
  return undefined;
}

/** A quarter more than it costs now, because that changes too. */
async function askDataFee(client: RpcClient, { serialized }: ApprovalTransaction): Promise<bigint> {
  try {
    const data = encodeFunctionData({ abi: ORACLE_ABI, args: [serialized] });
    const { data: word } = await client.call({ to: GAS_PRICE_ORACLE, data });
    // Without a contract, nothing is returned.
    const fee = word?.length === 66 ? BigInt(word) : 0n;
    return fee + fee / 4n;
  } catch (error) {
    if (isRevert(error)) return 0n;
    throw error;
  }
}

async function isFound(question: Promise<unknown>): Promise<boolean> {
  try {
    await question;
    return true;
  } catch (error) {
    const isMissing = error instanceof TransactionNotFoundError || error instanceof TransactionReceiptNotFoundError;
    if (isMissing) return false;
    throw error;
  }
}

/**
 * Remembers grants and keeps them within limits, because anyone can ask for one any number of times. In memory: a restarted
 * facilitator begins with none.
 */
interface Grants {
  /** Why a payer cannot be given so much now, for a log; `undefined` when it can. */
  findFault(payer: string, cost: Cost): string | undefined;
  /** Notes a grant. Call the result if the grant was not given after all. */
  note(payer: string, cost: Cost): () => void;
}

/** A grant and the fees for giving it, in wei. */
interface Cost {
  readonly given: bigint;
  readonly fees: bigint;
}

const HOUR_MS = 60 * 60 * 1000;

/** Limits the memory on networks where gas costs next to nothing. */
const MAX_GRANTS = 10_000;

/**
 * Creates an empty memory.
 *
 * @param now - Unix milliseconds.
 */
export function createGrants(
  { maxGrantWei, maxGrantWeiPerHour }: Pick<ParsedSponsoring, "maxGrantWei" | "maxGrantWeiPerHour">,
  now: () => number,
): Grants {
  /** Oldest first. */
  const grants = new Map<string, { readonly wei: bigint; readonly untilMs: number }>();

  function forgetOld(): void {
    for (const [payer, { untilMs }] of grants) {
      if (untilMs > now()) return;
      grants.delete(payer);
    }
  }

  return {
    findFault(payer, { given, fees }) {
      forgetOld();
      if (given > maxGrantWei) return `the payer lacks ${given} wei for gas, and maxGrantWei is ${maxGrantWei}`;
      if (grants.has(payer)) return "the payer was given something for gas within the last hour";
      const sum = [...grants.values()].reduce((total, { wei }) => total + wei, given + fees);
      if (sum > maxGrantWeiPerHour || grants.size >= MAX_GRANTS) return "the grants for this hour are used up";
      return undefined;
    },
    note(payer, { given, fees }) {
      const grant = { wei: given + fees, untilMs: now() + HOUR_MS };
      grants.set(payer, grant);
      return () => {
        if (grants.get(payer) === grant) grants.delete(payer);
      };
    },
  };
}
