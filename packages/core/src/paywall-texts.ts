/**
 * The texts of the page for browsers, in English, and the choice of a language.
 *
 * @module
 */

/** English. `{price}` and the like are filled in. */
export const ENGLISH = {
  title: "Payment required",
  for: "For",
  price: "Price",
  upTo: "up to {price}",
  upToNote: "You approve the maximum. You are charged for what you use.",
  testnet: "Test network: no real money",
  network: "Network",
  token: "Token",
  payee: "Paid to",
  showAll: "Show the whole address",
  seller: "Seller",
  waysToPay: "Way to pay",
  otherWays: "Ways to pay without a wallet in this browser",
  wallet: "Wallet",
  noWallet: "No wallet was found in this browser that can pay this.",
  noWalletHelp: "Install a wallet for {networks}, and reload this page. Or pay with a client, as below.",
  insecure: "Wallets on Solana need a page over HTTPS.",
  noNode:
    "This page cannot prepare a payment on {network}: the seller has no node there that responds. A client can pay.",
  withClient: "Pay with a client",
  withClientHelp:
    "Programs pay over x402: they read the PAYMENT-REQUIRED header of this response, sign a payment, and repeat the request with it.",
  noScript: "This page needs JavaScript to pay with a wallet.",
  notForSale: "This is not sold per request. The seller lets some requests through.",
  pay: "Pay {price}",
  payUpTo: "Approve up to {price}",
  payWith: "with {wallet}",
  balance: "Your balance: {amount}",
  tryAgain: "Try again",
  tryNow: "Try now",
  stepConnect: "Connect {wallet}",
  stepNetwork: "Switch to {network}",
  stepAllow: "Allow the payment contract to move {price}",
  stepSign: "Sign the payment",
  stepSend: "Send it to the seller",
  waitConnect: "Waiting for you to connect {wallet}.",
  waitNetwork: "Waiting for {wallet} to switch to {network}.",
  waitAllow: "Waiting for you to allow it in {wallet}.",
  waitAllowed: "Waiting for the allowance to reach the chain.",
  waitSign: "Waiting for your signature in {wallet}. Nothing is charged before it.",
  waitSend: "The seller checks the payment and settles it.",
  waitAgain: "The outcome is not known yet. The same payment is sent again in {seconds} s. You are not charged twice.",
  waitServed:
    "Another request is being served for this payment. The same payment is sent again in {seconds} s. You are not charged twice.",
  waitOffline:
    "The server cannot be reached. The same payment is sent again in {seconds} s. You are not charged twice.",
  waitBusy:
    "The server takes no more requests right now. The same payment is sent again in {seconds} s. You are not charged twice.",
  resumed: "A payment from before has no known outcome. The same payment is sent again.",
  rejected: "You declined in {wallet}. Nothing was charged.",
  wrongNetwork: "{wallet} is on another network. Switch it to {network}, and try again.",
  noFunds: "Your balance of {balance} is too low: {missing} are missing on {network}.",
  noFundsUnknown: "Your balance on {network} is too low.",
  expired: "The payment expired before it was settled. You were not charged. Please sign a new one.",
  priceChanged: "The price has changed to {price}. You were not charged.",
  refused: "The payment was refused: {reason}. You were not charged.",
  refusedLater: "The payment was refused: {reason}. It was sent before, so look into your wallet before you pay again.",
  used: "This payment was used before, and is not charged again: {reason}.",
  unclear:
    "The response {status} is not of the seller's payments. It does not say whether you were charged: look into your wallet, or reload this page to ask again with the same payment.",
  notCharged: "The server responded with {status}. You were not charged.",
  charged: "The server responded with {status}, after the payment was settled.",
  lost: "The payment was settled. Its response is no longer available.",
  cut: "The connection broke while the response came.",
  redirected: "The payment was sent, and the seller's response leads to another page, which this page cannot open.",
  walletFailed: "{wallet} failed: {reason}",
  unpayable: "This page cannot pay this way. A client can.",
  formLost: "You sent a form, and its content is not known to this page. Pay with a client, or ask the seller.",
  paid: "Paid",
  received: "Delivered",
  receipt: "Receipt",
  transaction: "Transaction",
  viewTransaction: "View it on {explorer}",
  payer: "Paid by",
  openPage: "Open the page you paid for",
  openAgain: "You paid for this page before. Open it again",
  download: "Download {name}",
  downloaded: "The file {name} was downloaded.",
  copy: "Copy",
  copied: "Copied",
  close: "Close",
};

/** The texts of a page. `{price}`, `{wallet}` and the like are filled in. */
export type PaywallTexts = { readonly [key in keyof typeof ENGLISH]: string };

/** Texts of one language; those that are missing are in English. */
export type PaywallTranslation = Partial<PaywallTexts>;

/** The texts for one visitor. */
export interface ChosenTexts {
  /** BCP 47. */
  readonly language: string;
  readonly direction: "ltr" | "rtl";
  readonly texts: PaywallTexts;
}

const RIGHT_TO_LEFT: ReadonlySet<string> = new Set(["ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"]);

/** Languages of a header that are read at most. */
const MOST_LANGUAGES = 20;

/** Chooses the texts by `Accept-Language`. */
export function chooseTexts(
  translations: Readonly<Record<string, PaywallTranslation>>,
  acceptLanguage: string | undefined,
): ChosenTexts {
  const language = acceptedLanguages(acceptLanguage).map(findIn(translations)).find(isFound) ?? "en";
  const main = language.toLowerCase().split("-")[0] ?? language;
  return {
    language,
    direction: RIGHT_TO_LEFT.has(main) ? "rtl" : "ltr",
    texts: { ...ENGLISH, ...translations["en"], ...translations[language] },
  };
}

function isFound(found: string | undefined): found is string {
  return found !== undefined;
}

/** The translation for a language: of the whole tag, or of its beginning. English needs none. */
function findIn(translations: Readonly<Record<string, PaywallTranslation>>): (tag: string) => string | undefined {
  const known = Object.keys(translations);
  return (tag) => {
    for (let part = tag; part !== ""; part = part.slice(0, Math.max(0, part.lastIndexOf("-")))) {
      const found = known.find((one) => one.toLowerCase() === part);
      if (found !== undefined) return found;
    }
    return tag === "en" || tag.startsWith("en-") ? "en" : undefined;
  };
}

function acceptedLanguages(header = ""): readonly string[] {
  const ranges = header.split(",", MOST_LANGUAGES).map((range) => {
    const [tag = "", ...parameters] = range.trim().toLowerCase().split(";");
    const quality = parameters.map((each) => /^\s*q=([\d.]{1,5})\s*$/.exec(each)?.[1]).find(isFound);
    return { tag: tag.trim(), quality: quality === undefined ? 1 : Number(quality) };
  });
  return ranges
    .filter(({ tag, quality }) => /^[a-z0-9-]{1,35}$/.test(tag) && quality > 0)
    .sort((one, other) => other.quality - one.quality)
    .map(({ tag }) => tag);
}
