/**
 * A chain over JSON-RPC.
 *
 * @module
 */
import type { SchemeHealth } from "@farebox/core";
import type {
  Address,
  EvmChain,
  Hash,
  Hex,
  Permit2Chain,
  SignedAuthorization,
  Simulation,
  TransactionOutcome,
} from "./chain.js";
import { ChainError, problemOf, toChainError } from "./chain-error.js";
import type { Call } from "./costs.js";
import { EIP3009_ABI } from "./eip3009-abi.js";
import { findTransfer } from "./find-transfer.js";
import { createGrants } from "./grants.js";
import { waitUnlessCrowdedOut } from "./receipt.js";
import { isRevert } from "./revert.js";
import { createRpcApprovals } from "./rpc-approvals.js";
import { type ParsedRpcOptions, parseRpcOptions, type RpcChainOptions, type RpcClient } from "./rpc-options.js";
import { createRpcPermit2, type RpcParts } from "./rpc-permit2.js";
import { createSender, type Sender } from "./sender.js";
import { isSignedByContract, isSignedByKey } from "./signature.js";
import { encodeTransfer, hashAuthorization } from "./transfer.js";

/**
 * Creates a chain over JSON-RPC, with one account that sends transactions. Nothing is asked before the first use; then
 * the chain id is compared with `network` first.
 *
 * @throws ConfigError with every issue at once; neither the key nor the URL is ever quoted.
 */
export function createRpcChain(options: RpcChainOptions): EvmChain {
  return new RpcChain(parseRpcOptions(options));
}

class RpcChain implements EvmChain {
  readonly network: `eip155:${number}`;
  readonly signers: readonly Address[];
  readonly permit2: Permit2Chain;
  readonly #options: ParsedRpcOptions;
  readonly #sender: Sender;
  #checked: Promise<void> | undefined;

  constructor(options: ParsedRpcOptions) {
    this.network = options.network;
    this.signers = [options.account.address];
    this.#options = options;
    this.#sender = createSender(options);
    const { sponsoring, lookbackBlocks } = options;
    const ask: RpcParts["ask"] = (question) => this.#ask(question);
    const send: RpcParts["send"] = (call) => this.#send(call);
    const approvals =
      sponsoring && createRpcApprovals({ options, sponsoring, grants: createGrants(sponsoring, Date.now), ask, send });
    this.permit2 = createRpcPermit2({
      simulate: (call) => this.#simulate(call),
      ...{ ask, send, lookbackBlocks, approvals },
    });
  }

  async verifySignature(signed: SignedAuthorization): Promise<boolean> {
    const hashed = hashAuthorization(signed);
    return (await isSignedByKey(hashed)) || this.#ask((client) => isSignedByContract(client, hashed));
  }

  balanceOf(asset: Address, owner: Address): Promise<bigint> {
    return this.#ask((client) =>
      client.readContract({ address: asset, abi: EIP3009_ABI, functionName: "balanceOf", args: [owner] }),
    );
  }

  isAuthorizationUsed(asset: Address, authorizer: Address, nonce: Hex): Promise<boolean> {
    const functionName = "authorizationState";
    return this.#ask((client) =>
      client.readContract({ address: asset, abi: EIP3009_ABI, functionName, args: [authorizer, nonce] }),
    );
  }

  simulate(signed: SignedAuthorization): Promise<Simulation> {
    return this.#simulate({ to: signed.asset, data: encodeTransfer(signed) });
  }

  submit(signed: SignedAuthorization): Promise<Hash> {
    return this.#send({ to: signed.asset, data: encodeTransfer(signed) });
  }

  async outcomeOf(transaction: Hash, waitedMs = 0): Promise<TransactionOutcome> {
    const receiptTimeoutMs = Math.max(this.#options.receiptTimeoutMs - waitedMs, 0);
    const options = { ...this.#options, receiptTimeoutMs };
    const seen = await waitUnlessCrowdedOut(options, transaction, () => this.#sender.isCrowdedOut(transaction));
    if (seen === "crowded-out") return "dropped-early";
    if (seen === undefined) return this.#sender.sendAgain(transaction);
    this.#sender.forget(transaction);
    return seen.status === "success" ? "confirmed" : "reverted";
  }

  findTransfer(signed: SignedAuthorization): Promise<Hash | undefined> {
    return this.#ask((client) => findTransfer(client, signed, this.#options.lookbackBlocks));
  }

  async health(): Promise<SchemeHealth> {
    const { address } = this.#options.account;
    try {
      const balance = await this.#ask((client) => client.getBalance({ address }));
      if (balance > 0n) return { ok: true };
      return { ok: false, problem: `${address} has nothing to pay for transactions with` };
    } catch (error) {
      return { ok: false, problem: problemOf(error) };
    }
  }

  #simulate(call: Call): Promise<Simulation> {
    return this.#ask(async (client) => {
      try {
        await client.call({ account: this.#options.account, ...call });
        return { ok: true };
      } catch (error) {
        if (!isRevert(error)) throw error;
        return { ok: false, problem: problemOf(error) };
      }
    });
  }

  async #send(call: Call): Promise<Hash> {
    await this.#check();
    return this.#sender.send(call);
  }

  async #ask<T>(question: (client: RpcClient) => Promise<T>): Promise<T> {
    await this.#check();
    try {
      return await question(this.#options.client);
    } catch (error) {
      throw toChainError(error);
    }
  }

  /** Once it is known to be the right chain, it stays so; until then it is asked each time. */
  async #check(): Promise<void> {
    const checking = this.#checked ?? this.#compareChainId();
    this.#checked = checking;
    try {
      await checking;
    } catch (error) {
      if (this.#checked === checking) this.#checked = undefined;
      throw error;
    }
  }

  async #compareChainId(): Promise<void> {
    const chainId = await this.#options.client.getChainId().catch((error: unknown) => {
      throw toChainError(error);
    });
    if (chainId !== this.#options.chainId) {
      throw new ChainError(`the RPC URL is of chain ${chainId}, not of ${this.network}`);
    }
  }
}
