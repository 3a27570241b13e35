/**
 * The builder of `@x402/paywall`. The handlers here stand for Farebox's own page; a handler of the seller's writes its own.
 *
 * @see `docs/reference/compat.md`
 * @module
 */
import { escapeHtml } from "@farebox/core/adapter";

/** Settings of a page. Farebox's own page has `appName`, `testnet`, and an `appLogo` of this server or in a `data:` URL. */
export interface PaywallConfig {
  appName?: string | undefined;
  appLogo?: string | undefined;
  sessionTokenEndpoint?: string | undefined;
  currentUrl?: string | undefined;
  testnet?: boolean | undefined;
}

/** One offer of a challenge. */
export interface PaywallRequirement {
  readonly network: string;
  readonly amount?: string;
  readonly maxAmountRequired?: string;
  readonly asset?: string;
}

/** A challenge. */
export interface PaywallChallenge {
  readonly accepts: readonly PaywallRequirement[];
  readonly resource?: { readonly url?: string; readonly description?: string } | undefined;
}

/** Writes the page of a challenge. */
export interface PaywallProvider {
  // biome-ignore lint/suspicious/noExplicitAny: each package declares the document a little differently
  generateHtml(paymentRequired: any, config?: PaywallConfig): string;
}

/** Writes the page for the networks that it supports. */
export interface PaywallNetworkHandler {
  // biome-ignore lint/suspicious/noExplicitAny: each package declares the document a little differently
  supports(requirement: any): boolean;
  // biome-ignore lint/suspicious/noExplicitAny: each package declares the document a little differently
  generateHtml(requirement: any, paymentRequired: any, config: PaywallConfig): string;
}

/** Builds a provider. */
export interface PaywallBuilder {
  /** Adds a handler. The first that supports one of the offers writes the page. */
  withNetwork(handler: PaywallNetworkHandler): PaywallBuilder;
  /** Adds settings. */
  withConfig(config: PaywallConfig): PaywallBuilder;
  build(): PaywallProvider;
}

/** The page for offers on EVM networks. */
export const evmPaywall: PaywallNetworkHandler = createHandler("eip155:");
/** The page for offers on Solana. */
export const svmPaywall: PaywallNetworkHandler = createHandler("solana:");
/** The page for offers on Algorand. */
export const avmPaywall: PaywallNetworkHandler = createHandler("algorand:");

const OURS: ReadonlySet<PaywallNetworkHandler> = new Set([evmPaywall, svmPaywall, avmPaywall]);
const OWN_PAGES = new WeakMap<PaywallProvider, PaywallConfig>();

/** Starts a builder: `createPaywall().withNetwork(evmPaywall).withConfig({ appName: "Weather" }).build()`. */
export function createPaywall(): PaywallBuilder {
  const handlers: PaywallNetworkHandler[] = [];
  let settings: PaywallConfig = {};
  const builder: PaywallBuilder = {
    withNetwork(handler) {
      handlers.push(handler);
      return builder;
    },
    withConfig(config) {
      settings = { ...settings, ...config };
      return builder;
    },
    build() {
      const chosen = [...handlers];
      const provider: PaywallProvider = {
        generateHtml(challenge: PaywallChallenge, config) {
          const merged = { ...settings, ...config };
          for (const requirement of challenge.accepts) {
            const handler = chosen.find((one) => one.supports(requirement));
            if (handler !== undefined) return handler.generateHtml(requirement, challenge, merged);
          }
          return writePage(challenge, merged);
        },
      };
      if (chosen.every((handler) => OURS.has(handler))) OWN_PAGES.set(provider, { ...settings });
      return provider;
    },
  };
  return builder;
}

/** Whether a provider only stands for Farebox's own page, which the engine writes better: it knows the decimals of a token. */
export function isOwnPaywall(provider: PaywallProvider): boolean {
  return OWN_PAGES.has(provider);
}

/** The settings of a builder whose provider stands for Farebox's own page. */
export function settingsOfPaywall(provider: PaywallProvider | undefined): PaywallConfig {
  return (provider && OWN_PAGES.get(provider)) ?? {};
}

function createHandler(namespace: string): PaywallNetworkHandler {
  return Object.freeze({
    supports: ({ network }: PaywallRequirement) => network.startsWith(namespace),
    generateHtml: (_requirement: PaywallRequirement, challenge: PaywallChallenge, config: PaywallConfig) =>
      writePage(challenge, config),
  });
}

function writePage({ accepts, resource = {} }: PaywallChallenge, { appName }: PaywallConfig): string {
  const offers = accepts.map(({ amount, maxAmountRequired, asset, network }) => {
    return `<li>${escapeHtml(`${amount ?? maxAmountRequired} atomic units of ${asset} on ${network}`)}</li>`;
  });
  const title = appName === undefined ? "Payment required" : `${appName}: payment required`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(resource.description ?? "")}</p>
<p><code>${escapeHtml(resource.url ?? "")}</code> costs, per request, one of:</p>
<ul>
${offers.join("\n")}
</ul>
</main>
</body>
</html>
`;
}
