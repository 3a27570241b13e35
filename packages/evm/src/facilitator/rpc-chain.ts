/**
 * A chain over JSON-RPC.
 *
 * @see EIP-3009; x402 v2, scheme `exact` on EVM, §1 and §2; scheme `upto` on EVM; EIP-712; ERC-1271
 * @module
 */
import { encodeFunctionData, hashTypedData, parseAbi, recoverAddress } from "viem";
import { hasNonce, PERMIT2 } from "../permit2/permit2.js";
import { permitTypedData, type TypedData, transferTypedData } from "../signatures/typed-data.js";
import { encodeTransfer } from "./authorization.js";
import {
  type Address,
  type BookGas,
  ChainError,
  type ChainHealth,
  type EvmChain,
  type Hash,
  type Hex,
  isRevert,
  type Permit2Chain,
  problemOf,
  type SignedAuthorization,
  type Simulation,
  type TransactionOutcome,
  toChainError,
} from "./chain.js";
import { findAuthorizationTransfer, findPermitTransfer } from "./find-transfer.js";
import { encodePermitCall } from "./permit.js";
import { createRpcApprovals } from "./rpc-approvals.js";
import { type ParsedRpcOptions, parseRpcOptions, type RpcChainOptions, type RpcClient } from "./rpc-options.js";
import { type Call, createSender, type Sender, waitForReceipt } from "./sender.js";

const ABI = parseAbi([
  "function allowance(address owner, address spender) view returns (uint256)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function balanceOf(address owner) view returns (uint256)",
  "function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)",
  "function nonceBitmap(address owner, uint256 word) view returns (uint256)",
]);

/**
 * Creates a chain over JSON-RPC, with one account that sends transactions. The node is not asked before the first use. Then
 * its chain id is compared with `network` first.
 *
 * @throws ConfigError with every issue at once. It quotes neither the key nor the URL.
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
    this.permit2 = this.#createPermit2();
  }

  verifySignature(signed: SignedAuthorization): Promise<boolean> {
    return this.#isSigned(transferTypedData(signed), signed.authorization.from, signed.signature);
  }

  balanceOf(address: Address, owner: Address): Promise<bigint> {
    return this.#ask((client) => client.readContract({ address, abi: ABI, functionName: "balanceOf", args: [owner] }));
  }

  isAuthorizationUsed(address: Address, authorizer: Address, nonce: Hex): Promise<boolean> {
    const call = { address, abi: ABI, functionName: "authorizationState", args: [authorizer, nonce] } as const;
    return this.#ask((client) => client.readContract(call));
  }

  simulate(signed: SignedAuthorization): Promise<Simulation> {
    return this.#simulate({ to: signed.asset, data: encodeTransfer(signed) });
  }

  submit(signed: SignedAuthorization): Promise<Hash> {
    return this.#send({ to: signed.asset, data: encodeTransfer(signed) });
  }

  findTransfer(signed: SignedAuthorization): Promise<Hash | undefined> {
    return this.#ask((client) => findAuthorizationTransfer(client, signed, this.#options.lookbackBlocks));
  }

  #createPermit2(): Permit2Chain {
    const { sponsoring, lookbackBlocks } = this.#options;
    const approvals =
      sponsoring &&
      createRpcApprovals({
        options: this.#options,
        sponsoring,
        ask: (question) => this.#ask(question),
        send: (call) => this.#send(call),
        paid: (transaction, receipt) => this.#sender.forget(transaction, receipt),
      });
    return Object.freeze({
      verifySignature: ({ chainId, permit }) =>
        this.#isSigned(permitTypedData(chainId, permit), permit.from, permit.signature),
      balanceOf: (asset, owner) => this.balanceOf(asset, owner),
      allowanceOf: (address, owner) => {
        const call = { address, abi: ABI, functionName: "allowance", args: [owner, PERMIT2] } as const;
        return this.#ask((client) => client.readContract(call));
      },
      isNonceUsed: async (owner, nonce) => {
        const call = { address: PERMIT2, abi: ABI, functionName: "nonceBitmap", args: [owner, nonce >> 8n] } as const;
        return hasNonce(await this.#ask((client) => client.readContract(call)), nonce);
      },
      simulate: (signed, amount) => this.#simulate(encodePermitCall(signed, amount)),
      submit: (signed, amount) => this.#send(encodePermitCall(signed, amount)),
      ...(approvals === undefined ? {} : { approvals }),
      findTransfer: (signed) => this.#ask((client) => findPermitTransfer(client, signed, lookbackBlocks)),
    } satisfies Permit2Chain);
  }

  async outcomeOf(transaction: Hash, waitedMs = 0): Promise<TransactionOutcome> {
    const receiptTimeoutMs = Math.max(this.#options.receiptTimeoutMs - waitedMs, 0);
    const options = { ...this.#options, receiptTimeoutMs };
    const seen = await waitForReceipt(options, transaction, () => this.#sender.isCrowdedOut(transaction));
    if (seen === "crowded-out") return "dropped-early";
    if (seen === undefined) return this.#sender.sendAgain(transaction);
    this.#sender.forget(transaction, seen);
    return seen.status === "success" ? "confirmed" : "reverted";
  }

  meterGas(book: BookGas): void {
    this.#sender.meterGas(book);
  }

  async health(): Promise<ChainHealth> {
    const { address } = this.#options.account;
    try {
      const wei = await this.#ask((client) => client.getBalance({ address }));
      const balance = wei.toString();
      if (wei > 0n) return { ok: true, balance };
      return { ok: false, problem: `${address} has nothing to pay for transactions with`, balance };
    } catch (error) {
      return { ok: false, problem: problemOf(error) };
    }
  }

  /** Whether the signer's key made the signature, which needs no node, or the contract at its address accepts it. */
  async #isSigned(message: TypedData, signer: Address, signature: Hex): Promise<boolean> {
    const hash = hashTypedData(message);
    return (await isSignedByKey(hash, signer, signature)) || this.#isSignedByContract(hash, signer, signature);
  }

  #isSignedByContract(hash: Hex, signer: Address, signature: Hex): Promise<boolean> {
    const data = encodeFunctionData({ abi: ABI, functionName: "isValidSignature", args: [hash, signature] });
    return this.#ask(async (client) => {
      try {
        const result = await client.call({ to: signer, data });
        return result.data?.slice(0, ACCEPTED.length) === ACCEPTED;
      } catch (error) {
        if (isRevert(error)) return false;
        throw error;
      }
    });
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

  /** Asks for the chain id until it was right once. */
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

/** The first word that a contract returns for a signature that it accepts. */
const ACCEPTED = `0x1626ba7e${"0".repeat(56)}`;

async function isSignedByKey(hash: Hex, signer: Address, signature: Hex): Promise<boolean> {
  if (signature.length !== 132) return false;
  try {
    const address = await recoverAddress({ hash, signature });
    return address.toLowerCase() === signer.toLowerCase();
  } catch {
    // Not a point on the curve, so no key made it. A contract wallet may still accept it.
    return false;
  }
}
