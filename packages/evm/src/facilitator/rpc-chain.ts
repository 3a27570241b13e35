/**
 * A chain over JSON-RPC.
 *
 * @module
 */
import type { SchemeHealth } from "@farebox/core";
import { BaseError, ExecutionRevertedError, type Hash, recoverTypedDataAddress } from "viem";
import type { Address, EvmChain, Hex, SignedAuthorization, Simulation, TransactionOutcome } from "./chain.js";
import { ChainError, shortMessageOf, toChainError } from "./chain-error.js";
import { EIP3009_ABI } from "./eip3009-abi.js";
import { type ParsedRpcOptions, parseRpcOptions, type RpcChainOptions, type RpcClient } from "./rpc-options.js";
import { createSender, type Sender } from "./sender.js";
import { encodeTransfer, typedDataOf } from "./transfer.js";

/**
 * Creates a chain over JSON-RPC, with one account that sends transactions. Nothing is asked before the first use; then
 * the chain id is compared with `network` first.
 *
 * @throws ConfigError with every issue at once; the key is never quoted.
 */
export function createRpcChain(options: RpcChainOptions): EvmChain {
  return new RpcChain(parseRpcOptions(options));
}

class RpcChain implements EvmChain {
  readonly network: `eip155:${number}`;
  readonly signers: readonly Address[];
  readonly #options: ParsedRpcOptions;
  readonly #client: RpcClient;
  readonly #sender: Sender;
  #checked: Promise<void> | undefined;

  constructor(options: ParsedRpcOptions) {
    this.network = options.network;
    this.signers = [options.account.address];
    this.#options = options;
    this.#client = options.client;
    this.#sender = createSender(options);
  }

  async verifySignature(signed: SignedAuthorization): Promise<boolean> {
    if (await isSignedByKey(signed)) return true;
    return this.#ask((client) =>
      client.verifyTypedData({ address: signed.authorization.from, ...typedDataOf(signed) }),
    );
  }

  balanceOf(asset: Address, owner: Address): Promise<bigint> {
    return this.#ask((client) =>
      client.readContract({ address: asset, abi: EIP3009_ABI, functionName: "balanceOf", args: [owner] }),
    );
  }

  isAuthorizationUsed(asset: Address, authorizer: Address, nonce: Hex): Promise<boolean> {
    return this.#ask((client) =>
      client.readContract({
        address: asset,
        abi: EIP3009_ABI,
        functionName: "authorizationState",
        args: [authorizer, nonce],
      }),
    );
  }

  async simulate(signed: SignedAuthorization): Promise<Simulation> {
    await this.#check();
    try {
      await this.#client.call({ account: this.#options.account, to: signed.asset, data: encodeTransfer(signed) });
      return { ok: true };
    } catch (error) {
      if (!isRevert(error)) throw toChainError(error);
      return { ok: false, problem: shortMessageOf(error) };
    }
  }

  async submit(signed: SignedAuthorization): Promise<Hash> {
    await this.#check();
    return this.#sender.send({ to: signed.asset, data: encodeTransfer(signed) });
  }

  async outcomeOf(transaction: Hash): Promise<TransactionOutcome> {
    const { confirmations, receiptTimeoutMs: timeout } = this.#options;
    try {
      const receipt = await this.#client.waitForTransactionReceipt({ hash: transaction, confirmations, timeout });
      return receipt.status === "success" ? "confirmed" : "reverted";
    } catch {
      return "pending";
    }
  }

  async findTransfer({ asset, authorization }: SignedAuthorization): Promise<Hash | undefined> {
    const { from, to, value, nonce } = authorization;
    const head = await this.#ask((client) => client.getBlockNumber({ cacheTime: 0 }));
    const lookback = BigInt(this.#options.lookbackBlocks);
    const fromBlock = head > lookback ? head - lookback : 0n;
    const uses = await this.#ask((client) =>
      client.getContractEvents({
        address: asset,
        abi: EIP3009_ABI,
        eventName: "AuthorizationUsed",
        args: { authorizer: from, nonce },
        fromBlock,
      }),
    );
    const [use] = uses;
    if (use === undefined) return undefined;
    const moves = await this.#ask((client) =>
      client.getContractEvents({
        address: asset,
        abi: EIP3009_ABI,
        eventName: "Transfer",
        args: { from, to },
        blockHash: use.blockHash,
      }),
    );
    const isThis = moves.some((move) => move.transactionHash === use.transactionHash && move.args.value === value);
    return isThis ? use.transactionHash : undefined;
  }

  async health(): Promise<SchemeHealth> {
    const { address } = this.#options.account;
    try {
      const balance = await this.#ask((client) => client.getBalance({ address }));
      return balance > 0n
        ? { ok: true }
        : { ok: false, problem: `${address} has nothing to pay for transactions with` };
    } catch (error) {
      return { ok: false, problem: shortMessageOf(error) };
    }
  }

  async #ask<T>(question: (client: RpcClient) => Promise<T>): Promise<T> {
    await this.#check();
    try {
      return await question(this.#client);
    } catch (error) {
      throw toChainError(error);
    }
  }

  /** Once it is known to be the right chain, it stays so; until then it is asked each time. */
  async #check(): Promise<void> {
    this.#checked ??= this.#compareChainId();
    try {
      await this.#checked;
    } catch (error) {
      this.#checked = undefined;
      throw error;
    }
  }

  async #compareChainId(): Promise<void> {
    const chainId = await this.#client.getChainId().catch((error: unknown) => {
      throw toChainError(error);
    });
    if (chainId !== this.#options.chainId) {
      throw new ChainError(`the RPC URL is of chain ${chainId}, not of ${this.network}`);
    }
  }
}

/** Most payers sign with a key, and whose key it was can be told without asking anybody. */
async function isSignedByKey(signed: SignedAuthorization): Promise<boolean> {
  if (signed.signature.length !== 132) return false;
  try {
    const signer = await recoverTypedDataAddress(typedDataOf(signed));
    return signer.toLowerCase() === signed.authorization.from.toLowerCase();
  } catch {
    // No point of the curve: nobody's key, though a contract wallet may still accept it.
    return false;
  }
}

/** A trial run that the contract refused, rather than one that could not be made. */
function isRevert(error: unknown): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof ExecutionRevertedError) !== null;
}
