/**
 * Pays with an EVM wallet: connects, switches the network, looks at the balance, allows Permit2 if needed, and signs.
 *
 * @see EIP-1193; EIP-3085; EIP-3326; EIP-3009; EIP-2612; Permit2, `SignatureTransfer`; x402 v2, schemes `exact` and `upto` on EVM
 * @module
 */
import {
  amountText,
  type Option,
  PayError,
  type Requirements,
  randomHex,
  type Signed,
  type Signing,
} from "./challenge.js";
import { fill } from "./dom.js";
import type { EvmProvider } from "./wallets.js";

const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
const PROXIES: Readonly<Record<string, string>> = {
  exact: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
  upto: "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002",
};

/** How often the chain is asked whether an approval is in it, and for how long. */
const POLL_MS = 1_500;
const POLLS = 200;

/** Whether the page can pay this offer with an EVM wallet. */
export function isPayableByEvm({ scheme, extra }: Requirements): boolean {
  if (scheme === "upto") return isAddress(extra["facilitatorAddress"]);
  if (scheme !== "exact") return false;
  return isPermit2(scheme, extra) || (typeof extra["name"] === "string" && typeof extra["version"] === "string");
}

/** Signs a payment. @throws PayError with what the person can do */
export async function signByEvm(provider: EvmProvider, option: Option, signing: Signing): Promise<Signed> {
  return new EvmSigner(provider, option, signing).sign();
}

class EvmSigner {
  readonly #provider: EvmProvider;
  readonly #option: Option;
  readonly #signing: Signing;

  constructor(provider: EvmProvider, option: Option, signing: Signing) {
    this.#provider = provider;
    this.#option = option;
    this.#signing = signing;
  }

  async sign(): Promise<Signed> {
    const { requirements } = this.#option;
    const from = await this.#connect();
    await this.#switchNetwork();
    await this.#checkBalance(from);
    if (!isPermit2(requirements.scheme, requirements.extra)) return this.#signAuthorization(from);
    const extensions = await this.#allow(from);
    return this.#signPermit(from, extensions);
  }

  async #connect(): Promise<string> {
    this.#say("connect", "waitConnect");
    const accounts = await this.#ask("eth_requestAccounts");
    const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
    if (!isAddress(first)) throw this.#failed("no account");
    return first;
  }

  async #switchNetwork(): Promise<void> {
    const { requirements, data } = this.#option;
    const chainId = `0x${BigInt(chainOf(requirements)).toString(16)}`;
    if (await this.#isOn(chainId)) return;
    this.#say("network", "waitNetwork");
    try {
      await this.#provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
    } catch (error) {
      if (!isUnknownChain(error)) throw isRejection(error) ? this.#rejected() : this.#wrongNetwork();
      if (data.chain === null) throw this.#wrongNetwork();
      const { rpcUrl, currency } = data.chain;
      const explorer = data.explorer === null ? [] : [new URL(data.explorer.url).origin];
      await this.#ask("wallet_addEthereumChain", [
        {
          chainId,
          chainName: data.networkName,
          rpcUrls: [rpcUrl],
          nativeCurrency: { name: currency, symbol: currency, decimals: 18 },
          blockExplorerUrls: explorer,
        },
      ]);
      // Some wallets add a network without switching to it.
      if (!(await this.#isOn(chainId))) await this.#ask("wallet_switchEthereumChain", [{ chainId }]);
    }
    if (!(await this.#isOn(chainId))) throw this.#wrongNetwork();
  }

  async #isOn(chainId: string): Promise<boolean> {
    const current = await this.#ask("eth_chainId");
    return isHex(current) && BigInt(current) === BigInt(chainId);
  }

  /** A wallet that does not say the balance is no hindrance: the seller's facilitator looks, too. */
  async #checkBalance(from: string): Promise<void> {
    const { requirements, data } = this.#option;
    const balance = await this.#read(`0x70a08231${word(from)}`);
    if (balance === undefined) return;
    this.#signing.onBalance(balance);
    const missing = BigInt(requirements.amount) - balance;
    if (missing <= 0n) return;
    throw new PayError(
      fill(this.#signing.texts["noFunds"], {
        balance: amountText(balance, data),
        missing: amountText(missing, data),
        network: data.networkName,
      }),
    );
  }

  /** Sees to it that Permit2 may move the amount. Returns what the payment says about it. */
  async #allow(from: string): Promise<Readonly<Record<string, unknown>>> {
    const { requirements } = this.#option;
    const allowed = await this.#read(`0xdd62ed3e${word(from)}${word(PERMIT2)}`);
    if (allowed === undefined) throw this.#failed("it does not read the allowance");
    if (allowed >= BigInt(requirements.amount)) return {};
    const isSponsored = this.#signing.challenge.extensions?.["eip2612GasSponsoring"] !== undefined;
    this.#say("allow", "waitAllow");
    if (isSponsored) return { eip2612GasSponsoring: { info: await this.#signAllowance(from) } };
    await this.#sendApproval(from);
    return {};
  }

  /** EIP-2612: a signature allows it, and the facilitator carries it out. */
  async #signAllowance(from: string): Promise<object> {
    const { amount, asset, maxTimeoutSeconds } = this.#option.requirements;
    const nonce = await this.#read(`0x7ecebe00${word(from)}`);
    if (nonce === undefined) throw this.#failed("it does not read the nonce");
    const deadline = String(this.#signing.now() + maxTimeoutSeconds);
    const message = { owner: from, spender: PERMIT2, value: amount, nonce: String(nonce), deadline };
    const signature = await this.#signTypedData(from, {
      domain: this.#domain(),
      primaryType: "Permit",
      types: { Permit: fields("address owner, address spender, uint256 value, uint256 nonce, uint256 deadline") },
      message,
    });
    return { from, asset, spender: PERMIT2, amount, nonce: String(nonce), deadline, signature, version: "1" };
  }

  /** A transaction of the payer's, for exactly the amount. */
  async #sendApproval(from: string): Promise<void> {
    const { asset, amount } = this.#option.requirements;
    const data = `0x095ea7b3${word(PERMIT2)}${BigInt(amount).toString(16).padStart(64, "0")}`;
    const hash = await this.#ask("eth_sendTransaction", [{ from, to: asset, data }]);
    this.#say("allow", "waitAllowed");
    for (let poll = 0; poll < POLLS; poll++) {
      const receipt = await this.#ask("eth_getTransactionReceipt", [hash]);
      if (receipt !== null && typeof receipt === "object") {
        if ("status" in receipt && receipt.status === "0x1") return;
        throw this.#failed("the allowance failed on chain");
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw this.#failed("the allowance did not reach the chain");
  }

  async #signAuthorization(from: string): Promise<Signed> {
    const { amount, payTo, maxTimeoutSeconds } = this.#option.requirements;
    const validBefore = String(this.#signing.now() + maxTimeoutSeconds);
    const authorization = {
      from,
      to: payTo,
      value: amount,
      validAfter: "0",
      validBefore,
      nonce: `0x${randomHex(32)}`,
    };
    this.#say("sign", "waitSign");
    const signature = await this.#signTypedData(from, {
      domain: this.#domain(),
      primaryType: "TransferWithAuthorization",
      types: {
        TransferWithAuthorization: fields(
          "address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce",
        ),
      },
      message: authorization,
    });
    return { payer: from, payload: { signature, authorization }, extensions: {} };
  }

  async #signPermit(from: string, extensions: Readonly<Record<string, unknown>>): Promise<Signed> {
    const { scheme, amount, asset, payTo, maxTimeoutSeconds, extra } = this.#option.requirements;
    const spender = PROXIES[scheme];
    const isUpTo = scheme === "upto";
    const message = {
      permitted: { token: asset, amount },
      spender,
      nonce: BigInt(`0x${randomHex(32)}`).toString(),
      deadline: String(this.#signing.now() + maxTimeoutSeconds),
      witness: { to: payTo, ...(isUpTo && { facilitator: extra["facilitatorAddress"] }), validAfter: "0" },
    };
    this.#say("sign", "waitSign");
    const signature = await this.#signTypedData(from, {
      domain: { name: "Permit2", chainId: chainOf(this.#option.requirements), verifyingContract: PERMIT2 },
      primaryType: "PermitWitnessTransferFrom",
      types: {
        PermitWitnessTransferFrom: fields(
          "TokenPermissions permitted, address spender, uint256 nonce, uint256 deadline, Witness witness",
        ),
        TokenPermissions: fields("address token, uint256 amount"),
        Witness: fields(
          isUpTo ? "address to, address facilitator, uint256 validAfter" : "address to, uint256 validAfter",
        ),
      },
      message,
    });
    return { payer: from, payload: { signature, permit2Authorization: { from, ...message } }, extensions };
  }

  async #signTypedData(from: string, typed: TypedData): Promise<string> {
    const domainTypes: Readonly<Record<string, string>> = {
      name: "string",
      version: "string",
      chainId: "uint256",
      verifyingContract: "address",
    };
    const EIP712Domain = Object.keys(typed.domain).map((name) => ({ name, type: domainTypes[name] }));
    const whole = { ...typed, types: { EIP712Domain, ...typed.types } };
    const signature = await this.#ask("eth_signTypedData_v4", [from, JSON.stringify(whole)]);
    if (!isHex(signature)) throw this.#failed("no signature");
    return signature;
  }

  #domain(): Readonly<Record<string, unknown>> {
    const { asset, extra } = this.#option.requirements;
    return {
      name: extra["name"],
      version: extra["version"],
      chainId: chainOf(this.#option.requirements),
      verifyingContract: asset,
    };
  }

  /** A number that a call of the token returns; `undefined` if the wallet does not say. */
  async #read(data: string): Promise<bigint | undefined> {
    const call = { to: this.#option.requirements.asset, data };
    const result = await this.#provider
      .request({ method: "eth_call", params: [call, "latest"] })
      .catch(() => undefined);
    return isHex(result) && result.length === 66 ? BigInt(result) : undefined;
  }

  async #ask(method: string, params?: readonly unknown[]): Promise<unknown> {
    try {
      return await this.#provider.request(params === undefined ? { method } : { method, params });
    } catch (error) {
      throw isRejection(error) ? this.#rejected() : this.#failed(messageOf(error));
    }
  }

  #say(step: "connect" | "network" | "allow" | "sign", text: string): void {
    const { onStep, texts, wallet } = this.#signing;
    onStep(step, fill(texts[text], { wallet, network: this.#option.data.networkName }));
  }

  #rejected(): PayError {
    return new PayError(fill(this.#signing.texts["rejected"], { wallet: this.#signing.wallet }));
  }

  #wrongNetwork(): PayError {
    const { texts, wallet } = this.#signing;
    return new PayError(fill(texts["wrongNetwork"], { wallet, network: this.#option.data.networkName }));
  }

  #failed(reason: string): PayError {
    return new PayError(fill(this.#signing.texts["walletFailed"], { wallet: this.#signing.wallet, reason }));
  }
}

interface TypedData {
  readonly domain: Readonly<Record<string, unknown>>;
  readonly primaryType: string;
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;
  readonly message: object;
}

/** `"address to, uint256 value"` as members of a type. */
function fields(text: string): { readonly name: string; readonly type: string }[] {
  return text.split(", ").map((field) => {
    const [type = "", name = ""] = field.split(" ");
    return { name, type };
  });
}

function isPermit2(scheme: string, extra: Requirements["extra"]): boolean {
  return scheme === "upto" || extra["assetTransferMethod"] === "permit2";
}

function chainOf({ network }: Requirements): number {
  return Number(network.slice("eip155:".length));
}

function isAddress(value: unknown): value is string {
  return typeof value === "string" && /^0x[0-9a-f]{40}$/i.test(value);
}

function isHex(value: unknown): value is string {
  return typeof value === "string" && /^0x[0-9a-f]+$/i.test(value);
}

function word(address: string): string {
  return address.slice(2).toLowerCase().padStart(64, "0");
}

/** Whether the person declined. @see EIP-1193, "Provider Errors" */
export function isRejection(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === 4001 || code === "ACTION_REJECTED" || /\b(reject|denied|declin|cancel)/i.test(String(message ?? ""));
}

/** Some wallets pack the code. */
function isUnknownChain(error: unknown): boolean {
  const { code, data } = (error ?? {}) as {
    readonly code?: unknown;
    readonly data?: { readonly originalError?: { readonly code?: unknown } };
  };
  return code === 4902 || data?.originalError?.code === 4902;
}

/** The message of what a wallet threw. */
export function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { readonly message?: unknown };
  return (typeof message === "string" && message !== "" ? message : String(error)).slice(0, 200);
}
