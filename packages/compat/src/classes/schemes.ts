/**
 * The schemes that sellers register. For `exact` on EVM, Solana and Algorand, and `upto` on EVM, the engine has its own, and the
 * classes here only say which networks they are registered for, and hold a seller's money parsers.
 *
 * @module
 */
import { ConfigError } from "@farebox/core";
import type {
  AssetAmount,
  MoneyParser,
  Network,
  PaymentFlowConfig,
  PaymentFlowName,
  PaymentRequirements,
  Price,
  SchemeNetworkServer,
  SupportedKind,
} from "../types.js";
import { priceByDefault } from "./default-prices.js";
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
   * Reads a price by the registered parsers, and then as the engine does. The engine does not call it: it is for schemes that are made of
   * this one.
   *
   * @throws PriceError when it is no price, or the engine knows no token for it
   */
  async parsePrice(price: Price, network: Network): Promise<AssetAmount> {
    if (typeof price === "object") return price;
    const { amount } = parseMoney(price);
    for (const parser of this.moneyParsers) {
      const parsed = await parser(amount, network);
      if (parsed != null) return parsed;
    }
    return priceByDefault(this, network, price);
  }

  /** Adds nothing: the engine adds what a facilitator says. */
  enhancePaymentRequirements(
    paymentRequirements: PaymentRequirements,
    _supportedKind: SupportedKind,
    _extensionKeys: string[],
  ): Promise<PaymentRequirements> {
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

/** A scheme of the reference that settles by escrow. */
abstract class EscrowScheme extends BuiltInScheme {
  override readonly paymentFlows: Readonly<Record<string, PaymentFlowConfig>> = {
    default: { supported: ["escrow"], default: "escrow" },
  };

  /** @throws ConfigError always: a file that names the class loads, and says at its start what is missing. */
  constructor(..._options: readonly unknown[]) {
    super();
    const expected =
      "ExactEvmScheme, UptoEvmScheme, ExactSvmScheme or ExactAvmScheme: Farebox does not settle by escrow";
    throw new ConfigError([{ path: "schemes", expected, received: new.target.name }]);
  }
}

/** `upto` on Solana. Refused: it settles by escrow. */
export class UptoSvmScheme extends EscrowScheme {
  override readonly scheme = "upto";
  override readonly defaultAssetTransferMethod = "default";
}

/** Vouchers on EVM networks. Refused: they settle by escrow. */
export class BatchSettlementEvmScheme extends EscrowScheme {
  override readonly scheme = "batch-settlement";
  override readonly defaultAssetTransferMethod = "default";
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

/** The classes that the engine's own schemes stand for: ours, and the reference's of these names. */
const STOCK: readonly (readonly [ours: object, name: string, scheme: string, namespace: string])[] = [
  [ExactEvmScheme.prototype, "ExactEvmScheme", "exact", "eip155"],
  [UptoEvmScheme.prototype, "UptoEvmScheme", "upto", "eip155"],
  [ExactSvmScheme.prototype, "ExactSvmScheme", "exact", "solana"],
  [ExactAvmScheme.prototype, "ExactAvmScheme", "exact", "algorand"],
];

/**
 * Whether the engine's own scheme stands for a registered one: it is of one of the four classes, ours or the reference's, and
 * nothing about it was changed. Ours are not known by their names, because bundlers change these.
 */
export function isStock(server: SchemeNetworkServer, network: string): boolean {
  const namespace = network.slice(0, network.indexOf(":"));
  const prototype: unknown = Object.getPrototypeOf(server);
  if (typeof prototype !== "object" || prototype === null) return false;
  if (Object.hasOwn(server, "parsePrice") || Object.hasOwn(server, "enhancePaymentRequirements")) return false;
  // A subclass may price differently.
  const isBase = Object.getPrototypeOf(prototype) === Object.prototype;
  return STOCK.some(
    ([ours, name, scheme, of]) =>
      (ours === prototype || (isBase && prototype.constructor.name === name)) &&
      scheme === server.scheme &&
      of === namespace,
  );
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

/** Methods of the reference's schemes that the engine does not call. Without them a settlement would lack what the scheme adds. */
const UNCALLED = [
  "settleOnCancel",
  "enrichSettlementPayload",
  "enrichSettlementResponse",
  "enrichPaymentRequiredResponse",
] as const;

/** Finds when payments of an option settle. A scheme of 2.10 has no flows: it authorizes. */
export function flowOf(server: SchemeNetworkServer, extra: Readonly<Record<string, unknown>> = {}): Flow {
  const { scheme, paymentFlows, defaultAssetTransferMethod = "default" } = server;
  const requested = extra["paymentFlow"] ?? undefined;
  const refuse = (message: string): Flow => ({ ok: false, reason: "unsupported_payment_flow", message });
  const uncalled = UNCALLED.find((name) => name in server);
  if (uncalled !== undefined) return refuse(`Scheme "${scheme}" has ${uncalled}, which Farebox would not call.`);
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
  if (supported === "escrow") return refuse(`Scheme "${scheme}" settles by escrow, which Farebox does not.`);
  if (supported !== undefined) return { ok: true, flow: supported };
  return refuse(
    `Scheme "${scheme}" assetTransferMethod "${method}" does not support paymentFlow "${String(flow)}". Supported: ${config.supported.join(", ")}.`,
  );
}
