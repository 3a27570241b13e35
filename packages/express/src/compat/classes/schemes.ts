/**
 * The schemes that sellers register. For `exact` on EVM, Solana and Algorand, and `upto` on EVM, the engine has its own, and the
 * classes here only say which networks they are registered for, and hold a seller's money parsers.
 *
 * @module
 */
import { PriceError } from "@farebox/core";
import type {
  AssetAmount,
  MoneyParser,
  Network,
  PaymentFlowConfig,
  PaymentFlowName,
  PaymentRequirements,
  Price,
  SchemeNetworkServer,
} from "../types.js";
import { parseMoney } from "./money.js";

/** What all marker classes have. */
abstract class BuiltInScheme implements SchemeNetworkServer {
  abstract readonly scheme: string;
  abstract readonly defaultAssetTransferMethod: string;
  abstract readonly paymentFlows: Readonly<Record<string, PaymentFlowConfig>>;
  readonly moneyParsers: MoneyParser[] = [];

  /** Adds a parser, which is asked before the default one reads a price. */
  registerMoneyParser(parser: MoneyParser): this {
    this.moneyParsers.push(parser);
    return this;
  }

  /**
   * Reads a price by the registered parsers.
   *
   * @throws PriceError when none of them knows it: the default assets are the engine's, see `buildPaymentRequirements`
   */
  async parsePrice(price: Price, network: Network): Promise<AssetAmount> {
    if (typeof price === "object") return price;
    const { amount } = parseMoney(price);
    for (const parser of this.moneyParsers) {
      const parsed = await parser(amount, network);
      if (parsed != null) return parsed;
    }
    throw new PriceError(price, `a price that a money parser of ${this.scheme} reads; see buildPaymentRequirements`);
  }

  enhancePaymentRequirements(paymentRequirements: PaymentRequirements): Promise<PaymentRequirements> {
    return Promise.resolve(paymentRequirements);
  }
}

const AUTHORIZATION_OR_UPFRONT: PaymentFlowConfig = {
  supported: ["authorization", "upfront"],
  default: "authorization",
};

/** `exact` on EVM networks. */
export class ExactEvmScheme extends BuiltInScheme {
  override readonly scheme = "exact";
  override readonly defaultAssetTransferMethod = "eip3009";
  override readonly paymentFlows: Readonly<Record<string, PaymentFlowConfig>> = {
    eip3009: AUTHORIZATION_OR_UPFRONT,
    permit2: AUTHORIZATION_OR_UPFRONT,
  };
}

/** `upto` on EVM networks. */
export class UptoEvmScheme extends BuiltInScheme {
  override readonly scheme = "upto";
  override readonly defaultAssetTransferMethod = "permit2";
  override readonly paymentFlows: Readonly<Record<string, PaymentFlowConfig>> = {
    permit2: { supported: ["authorization"], default: "authorization" },
  };
}

/** Options of {@link ExactSvmScheme}. */
export interface ExactSvmServerOptions {
  /** Accepted and not used: no node is asked for each challenge. */
  rpcUrl?: string | undefined;
}

/** `exact` on Solana. */
export class ExactSvmScheme extends BuiltInScheme {
  override readonly scheme = "exact";
  override readonly defaultAssetTransferMethod = "default";
  override readonly paymentFlows: Readonly<Record<string, PaymentFlowConfig>> = { default: AUTHORIZATION_OR_UPFRONT };
  readonly options: ExactSvmServerOptions;

  constructor(options: ExactSvmServerOptions = {}) {
    super();
    this.options = options;
  }
}

/** `exact` on Algorand. */
export class ExactAvmScheme extends BuiltInScheme {
  override readonly scheme = "exact";
  override readonly defaultAssetTransferMethod = "default";
  override readonly paymentFlows: Readonly<Record<string, PaymentFlowConfig>> = { default: AUTHORIZATION_OR_UPFRONT };
}

interface Registrable {
  register(network: Network, scheme: SchemeNetworkServer): unknown;
}

/** Options of {@link registerExactEvmScheme}. */
export interface EvmResourceServerConfig {
  /** Default: every EVM network. */
  networks?: Network[] | undefined;
}

/** Registers `exact` for EVM networks. */
export function registerExactEvmScheme<S extends Registrable>(server: S, config: EvmResourceServerConfig = {}): S {
  return registerFor(server, config.networks ?? [], "eip155:*", () => new ExactEvmScheme());
}

/** Options of {@link registerExactSvmScheme}. */
export interface SvmResourceServerConfig extends ExactSvmServerOptions {
  /** Default: every Solana network. */
  networks?: Network[] | undefined;
}

/** Registers `exact` for Solana networks. */
export function registerExactSvmScheme<S extends Registrable>(server: S, config: SvmResourceServerConfig = {}): S {
  const { networks = [], rpcUrl } = config;
  return registerFor(server, networks, "solana:*", () => new ExactSvmScheme({ rpcUrl }));
}

function registerFor<S extends Registrable>(
  server: S,
  networks: readonly Network[],
  all: Network,
  create: () => SchemeNetworkServer,
): S {
  for (const network of networks.length > 0 ? networks : [all]) server.register(network, create());
  return server;
}

/** The reference's classes that the engine's own schemes stand for, by name, scheme and namespace. */
const STOCK: readonly (readonly [className: string, scheme: string, namespace: string])[] = [
  ["ExactEvmScheme", "exact", "eip155"],
  ["UptoEvmScheme", "upto", "eip155"],
  ["ExactSvmScheme", "exact", "solana"],
  ["ExactAvmScheme", "exact", "algorand"],
];

/**
 * Whether the engine's own scheme stands for a registered one: it is of one of the four classes, ours or the reference's, and
 * nothing about it was changed.
 */
export function isStock(server: SchemeNetworkServer, network: string): boolean {
  const namespace = network.slice(0, network.indexOf(":"));
  const prototype: unknown = Object.getPrototypeOf(server);
  if (typeof prototype !== "object" || prototype === null) return false;
  const parent: unknown = Object.getPrototypeOf(prototype);
  // A subclass may price differently.
  if (parent !== Object.prototype && parent !== BuiltInScheme.prototype) return false;
  if (Object.hasOwn(server, "parsePrice") || Object.hasOwn(server, "enhancePaymentRequirements")) return false;
  const { name } = prototype.constructor;
  return STOCK.some(([className, scheme, of]) => className === name && scheme === server.scheme && of === namespace);
}

/** The money parsers of a scheme, ours or the reference's. */
export function moneyParsersOf(server: SchemeNetworkServer): readonly MoneyParser[] {
  const { moneyParsers } = server as { readonly moneyParsers?: unknown };
  return Array.isArray(moneyParsers) ? moneyParsers : [];
}

/** The flow of a payment option, or what is wrong with it. */
export type Flow =
  | { readonly ok: true; readonly flow: PaymentFlowName }
  | {
      readonly ok: false;
      readonly reason: "unsupported_asset_transfer_method" | "unsupported_payment_flow";
      readonly message: string;
    };

/** Finds when payments of an option settle. A scheme of 2.10 has no flows: it authorizes. */
export function flowOf(server: SchemeNetworkServer, extra: Readonly<Record<string, unknown>> = {}): Flow {
  const { scheme, paymentFlows, defaultAssetTransferMethod = "default" } = server;
  const requested = extra["paymentFlow"] ?? undefined;
  if (paymentFlows === undefined) return { ok: true, flow: "authorization" };
  const given = extra["assetTransferMethod"];
  const method = typeof given === "string" ? given : defaultAssetTransferMethod;
  const config = Object.hasOwn(paymentFlows, method) ? paymentFlows[method] : undefined;
  if (config === undefined) {
    const message = `Scheme "${scheme}" does not support assetTransferMethod "${method}". Supported: ${Object.keys(paymentFlows).join(", ")}.`;
    return { ok: false, reason: "unsupported_asset_transfer_method", message };
  }
  const flow = requested ?? config.default;
  const supported = config.supported.find((each) => each === flow);
  if (supported !== undefined) return { ok: true, flow: supported };
  const message = `Scheme "${scheme}" assetTransferMethod "${method}" does not support paymentFlow "${String(flow)}". Supported: ${config.supported.join(", ")}.`;
  return { ok: false, reason: "unsupported_payment_flow", message };
}
