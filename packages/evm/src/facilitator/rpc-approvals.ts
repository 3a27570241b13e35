/**
 * Approvals that payers have signed as transactions, over JSON-RPC: what they lack to pay for the gas is given to them, and
 * the approval is sent.
 *
 * The specification wants grant, approval and transfer to be one bundle. Nodes take no bundles, so they go one after the
 * other, each when the one before is on chain: whoever is quicker than that with another transaction of theirs can keep
 * what was given. That is why it is limited, and given only when all three were just tried out together.
 *
 * @see x402 v2, extension `erc20ApprovalGasSponsoring`
 * @module
 */

import { type ApprovalState, askState, findStateFault, isSignedByPayer } from "./approval-state.js";
import { broadcast } from "./broadcast.js";
import type { ApprovalChain, ApprovalTransaction, Hash, SignedPermit, Simulation } from "./chain.js";
import { ChainError, problemOf, toChainError } from "./chain-error.js";
import type { Call } from "./costs.js";
import type { Cost, Grants } from "./grants.js";
import { encodePermitCall } from "./permit-transfer.js";
import { waitForReceipt } from "./receipt.js";
import type { ParsedRpcOptions, RpcClient } from "./rpc-options.js";
import type { ParsedSponsoring } from "./sponsoring-options.js";

/** How the chain is asked, and sent transactions. */
export interface ApprovalParts {
  readonly options: ParsedRpcOptions;
  readonly sponsoring: ParsedSponsoring;
  readonly grants: Grants;
  ask<T>(question: (client: RpcClient) => Promise<T>): Promise<T>;
  send(call: Call): Promise<Hash>;
}

/** Creates what carries out approvals. */
export function createRpcApprovals(parts: ApprovalParts): ApprovalChain {
  return new RpcApprovals(parts);
}

class RpcApprovals implements ApprovalChain {
  readonly #parts: ApprovalParts;
  /** One approval of a payer's at a time. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
  }

  async findFault(approval: ApprovalTransaction): Promise<string | undefined> {
    const { assets } = this.#parts.sponsoring;
    if (assets !== undefined && !assets.has(approval.token)) return "it is not done for this token";
    if (!(await isSignedByPayer(approval))) return "it is not signed by the payer";
    const state = await this.#parts.ask((client) => askState(client, approval));
    return findStateFault(approval, state) ?? this.#findGrantFault(approval, state);
  }

  simulate(signed: SignedPermit, approval: ApprovalTransaction, amount: bigint): Promise<Simulation> {
    const { account, maxGas } = this.#parts.options;
    const { from, token: to, data, gas, nonce } = approval;
    const transfer = { from: account.address, ...encodePermitCall(signed, amount) };
    return this.#parts.ask(async (client) => {
      const [block] = await client.simulateBlocks({
        blocks: [
          {
            // As if it was given already.
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
    // Half of the time is for this, so that there is some left to wait for the transfer.
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
    return state.lackingWei === 0n ? undefined : this.#parts.grants.findFault(from, costOf(state));
  }

  async #give(
    { from }: ApprovalTransaction,
    { state, untilMs }: { readonly state: ApprovalState; readonly untilMs: number },
  ): Promise<void> {
    // Noted before anything is awaited, or many at once would each find that there is enough left.
    const takeBack = this.#parts.grants.note(from, costOf(state));
    const transaction = await this.#parts.send({ to: from, data: "0x", value: state.lackingWei }).catch((error) => {
      takeBack();
      throw error;
    });
    await this.#waitFor(transaction, { what: "what the payer is given for gas", untilMs });
  }

  async #waitFor(
    transaction: Hash,
    { what, untilMs }: { readonly what: string; readonly untilMs: number },
  ): Promise<void> {
    const receiptTimeoutMs = Math.max(untilMs - performance.now(), 0);
    const receipt = await waitForReceipt({ ...this.#parts.options, confirmations: 1, receiptTimeoutMs }, transaction);
    if (receipt === undefined) throw new ChainError(`${what} is not on chain yet`);
    if (receipt.status !== "success") throw new ChainError(`${what} failed on chain`);
  }
}

function costOf({ lackingWei, grantFeesWei }: ApprovalState): Cost {
  return { given: lackingWei, fees: grantFeesWei };
}

function failed(what: string, error: unknown): Simulation {
  return { ok: false, problem: `${what} fails: ${error === undefined ? "without a word" : problemOf(error)}` };
}
