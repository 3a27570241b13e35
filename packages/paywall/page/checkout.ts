/**
 * What the person sees: the ways to pay, the wallets, one button, the steps of the payment, and what came of it.
 *
 * @module
 */
import type { FreshData, OptionData, PageData } from "../src/page-data.js";
import {
  amountText,
  type Challenge,
  type Option,
  PayError,
  type Signed,
  type Signing,
  type Step,
  writePayment,
} from "./challenge.js";
import { disk, el, fill, shorten } from "./dom.js";
import { isPayableByEvm, messageOf, signByEvm } from "./evm.js";
import { dropView, keepPending, type Pending, readPending, readView } from "./pending.js";
import { type Outcome, type Receipt, readReceipt, send } from "./send.js";
import { openView, show } from "./show.js";
import { hindranceOf, isWalletFor, signBySvm } from "./svm.js";
import { findWallets, type Wallet } from "./wallets.js";

/** As a navigation sends it. */
const ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const PAGE_DATA = "application/vnd.farebox.page+json";

/** Data that are older are asked for again before something is signed. */
const FRESH_MS = 20_000;

/** A receipt that comes later is asked for so often, a second apart. */
const MOST_RECEIPT_QUESTIONS = 20;

type Refused = Extract<Outcome, { kind: "refused" }>;

/** Part of the page that is built anew when wallets or choices change. */
export class Checkout {
  readonly #root: HTMLElement;
  #challenge: Challenge;
  #page: PageData;
  readonly #wallets: Wallet[] = [];
  #option = -1;
  #isOptionChosen = false;
  #wallet: Wallet | undefined;
  /** Whether the data did not do for a payment. */
  #isStale = false;
  /** Whether the payment was sent before, without an outcome. */
  #wasSentBefore = false;
  /** `performance.now()` at which the data came. */
  #cameAt = performance.now();
  readonly #ways = el("fieldset", { id: "ways" });
  readonly #purses = el("fieldset", { id: "wallets" });
  readonly #balance = el("p", { class: "quiet", id: "balance", hidden: true });
  readonly #button = el("button", { type: "button", class: "main", id: "pay", onclick: () => this.#pay() });
  readonly #steps = el("ol", { class: "steps", hidden: true });
  readonly #status = el("p", { role: "status", id: "status", class: "quiet" });
  readonly #again = el("button", { type: "button", class: "small", hidden: true });
  readonly #problem = el("div", { role: "alert", id: "problem" });
  readonly #result = el("div", { id: "result", class: "shown" });

  constructor(root: HTMLElement, challenge: Challenge, page: PageData) {
    this.#root = root;
    this.#challenge = challenge;
    this.#page = page;
  }

  /** Shows the ways to pay; or goes on with a payment whose outcome is not known. */
  start(): void {
    const { form } = this.#page;
    const parts = [this.#ways, this.#purses, this.#balance, this.#button, this.#steps, this.#status, this.#again];
    this.#root.replaceChildren(...parts, this.#problem, this.#result, ...this.#root.children);
    const client = document.getElementById("client");
    if (client !== null) this.#root.append(el("details", {}, el("summary", {}, this.#text("withClient")), client));
    this.#again.textContent = this.#text("tryNow");
    this.#showWays();
    this.#choose(0);
    findWallets((wallet) => {
      this.#wallets.push(wallet);
      this.#showWays();
      const usable = this.#page.options.findIndex((_, at) => this.#walletsFor(at).length > 0);
      if (!this.#isOptionChosen) this.#choose(Math.max(0, usable));
      else this.#showWallets();
    });
    const pending = readPending();
    const view = readView();
    if (pending !== undefined) {
      this.#wasSentBefore = true;
      this.#say(this.#text("resumed"));
      void this.#deliver(pending);
    } else if (form === "lost") {
      this.#fail(this.#text("formLost"));
      this.#button.disabled = true;
    } else if (view !== undefined && this.#page.method === "GET") {
      const open = el("button", { type: "button", onclick: openView }, this.#text("openAgain"));
      this.#root.prepend(open);
    }
  }

  // The choices

  #showWays(): void {
    const { options } = this.#page;
    const focused = this.#ways.contains(document.activeElement);
    const choices = options.map((data, at) => {
      const [option, hindrance] = [this.#optionAt(at), this.#hindrance(at)];
      if (option === undefined || data.family === "other") return undefined;
      const isUsable = hindrance === undefined && this.#walletsFor(at).length > 0;
      const input = el("input", {
        type: "radio",
        name: "way",
        value: `${at}`,
        checked: at === this.#option,
        disabled: !isUsable && this.#wallets.length > 0,
        onchange: () => this.#chooseByHand(at),
      });
      return el(
        "label",
        { class: "choice" },
        input,
        disk(data.networkName),
        el("span", {}, data.networkName, this.#noteOf(hindrance, data)),
        el("span", { class: "end" }, data.amount),
      );
    });
    this.#ways.replaceChildren(el("legend", {}, this.#text("waysToPay")), el("div", { class: "choices" }, ...choices));
    this.#ways.hidden = choices.filter((choice) => choice !== undefined).length < 2;
    if (focused) this.#ways.querySelector<HTMLInputElement>("input:checked")?.focus();
  }

  #noteOf(hindrance: string | undefined, { networkName: network }: OptionData): HTMLElement | undefined {
    return hindrance === undefined
      ? undefined
      : el("span", { class: "quiet" }, ` ${fill(this.#text(hindrance), { network })}`);
  }

  #chooseByHand(at: number): void {
    this.#isOptionChosen = true;
    this.#choose(at);
  }

  #choose(at: number): void {
    this.#option = at;
    const option = this.#optionAt(at);
    if (option === undefined) return;
    for (const input of this.#ways.querySelectorAll("input")) input.checked = input.value === `${at}`;
    const { data, requirements } = option;
    setText("price", this.#priceOf(data));
    setText("token", `${data.amount} \u00b7 ${data.networkName}`);
    setText("network", data.networkName);
    setText("up-to", data.isUpTo ? this.#text("upToNote") : "");
    showPayee(requirements.payTo, this.#text("showAll"));
    this.#balance.hidden = true;
    this.#showWallets();
  }

  #showWallets(): void {
    const wallets = this.#walletsFor(this.#option);
    if (this.#wallet === undefined || !wallets.includes(this.#wallet)) [this.#wallet] = wallets;
    const choices = wallets.map((wallet) => {
      const input = el("input", {
        type: "radio",
        name: "wallet",
        value: wallet.id,
        checked: wallet === this.#wallet,
        onchange: () => {
          this.#wallet = wallet;
          this.#showButton();
        },
      });
      const icon = wallet.icon === undefined ? disk(wallet.name) : el("img", { src: wallet.icon, alt: "" });
      return el("label", { class: "choice" }, input, icon, el("span", {}, wallet.name));
    });
    const hindrance = this.#hindrance(this.#option);
    const networks = [...new Set(this.#page.options.map(({ networkName }) => networkName))].join(", ");
    const help =
      hindrance === undefined
        ? [
            el("p", {}, this.#text("noWallet")),
            el("p", { class: "quiet" }, fill(this.#text("noWalletHelp"), { networks })),
          ]
        : [el("p", {}, fill(this.#text(hindrance), { network: this.#optionAt(this.#option)?.data.networkName ?? "" }))];
    const content = choices.length > 0 ? choices : help;
    this.#purses.replaceChildren(el("legend", {}, this.#text("wallet")), el("div", { class: "choices" }, ...content));
    this.#showButton();
  }

  #showButton(): void {
    const data = this.#optionAt(this.#option)?.data;
    if (data === undefined) return;
    const price = data.dollars ?? data.amount;
    this.#button.textContent = fill(this.#text(data.isUpTo ? "payUpTo" : "pay"), { price });
    this.#button.disabled = this.#wallet === undefined || this.#page.form === "lost";
    this.#button.hidden = this.#wallet === undefined;
  }

  #optionAt(at: number): Option | undefined {
    const [requirements, data] = [this.#challenge.accepts[at], this.#page.options[at]];
    return requirements === undefined || data === undefined ? undefined : { requirements, data };
  }

  /** Why the page cannot pay this way, as the name of a text. */
  #hindrance(at: number): string | undefined {
    const option = this.#optionAt(at);
    if (option === undefined) return "unpayable";
    if (option.data.family === "evm") return isPayableByEvm(option.requirements) ? undefined : "unpayable";
    return option.data.family === "svm" ? hindranceOf(option) : "unpayable";
  }

  #walletsFor(at: number): readonly Wallet[] {
    const option = this.#optionAt(at);
    if (option === undefined || this.#hindrance(at) !== undefined) return [];
    return this.#wallets.filter((wallet) =>
      wallet.family === "evm" ? option.data.family === "evm" : isWalletFor(wallet.wallet, option.requirements.network),
    );
  }

  #priceOf({ dollars, amount, isUpTo }: OptionData): string {
    const price = dollars ?? amount;
    return isUpTo ? fill(this.#text("upTo"), { price }) : price;
  }

  // The payment

  /** @param isAgain - The payment before this one has expired. */
  async #pay(isAgain = false): Promise<void> {
    const wallet = this.#wallet;
    if (wallet === undefined) return;
    this.#begin();
    try {
      await this.#refresh(wallet);
      const option = this.#optionAt(this.#option);
      if (option === undefined) throw new PayError(this.#text("unpayable"));
      const signed = await this.#sign(wallet, option);
      const { form, method } = this.#page;
      const pending: Pending = {
        payment: writePayment(this.#challenge, option, signed),
        method,
        body: form === null || form === "lost" ? null : form.body,
        option: option.data,
        payer: signed.payer,
        token: null,
      };
      keepPending(pending);
      this.#wasSentBefore = false;
      await this.#deliver(pending, isAgain);
    } catch (error) {
      const reason = messageOf(error);
      const isKnown = error instanceof PayError;
      this.#fail(isKnown ? reason : fill(this.#text("walletFailed"), { wallet: wallet.name, reason }));
    }
  }

  #sign(wallet: Wallet, option: Option): Promise<Signed> {
    const signing: Signing = {
      challenge: this.#challenge,
      now: () => Math.floor((this.#page.nowMs + performance.now() - this.#cameAt) / 1000),
      onStep: (step, text) => this.#step(step, text),
      onBalance: (atomic) => {
        this.#balance.hidden = false;
        this.#balance.textContent = fill(this.#text("balance"), { amount: amountText(atomic, option.data) });
      },
      texts: this.#page.texts,
      wallet: wallet.name,
    };
    this.#showSteps(wallet, option);
    return wallet.family === "evm"
      ? signByEvm(wallet.provider, option, signing)
      : signBySvm(wallet.wallet, option, signing);
  }

  /** Asks for the data again if they may be out of date: a blockhash lives for a minute, and so may a price. */
  async #refresh(wallet: Wallet): Promise<void> {
    const { method, form } = this.#page;
    const age = performance.now() - this.#cameAt;
    const isOld = this.#isStale || age > FRESH_MS || (wallet.family === "svm" && age > FRESH_MS / 10);
    if (!isOld) return;
    const before = this.#optionAt(this.#option);
    const isForm = form !== null && form !== "lost";
    const headers = {
      Accept: PAGE_DATA,
      ...(isForm && { "Content-Type": "application/x-www-form-urlencoded" }),
    };
    const fresh = await fetch(location.href, { method, headers, body: isForm ? form.body : null, cache: "no-store" })
      .then((response) => (response.status === 402 ? (response.json() as Promise<FreshData>) : undefined))
      .catch(() => undefined);
    if (fresh?.page === undefined) return;
    this.#challenge = fresh.challenge as Challenge;
    this.#page = fresh.page;
    this.#cameAt = performance.now();
    this.#isStale = false;
    const now = this.#optionAt(this.#option);
    const isSame = (["scheme", "network", "asset", "payTo", "amount"] as const).every(
      (name) => now?.requirements[name] === before?.requirements[name],
    );
    if (isSame) return;
    this.#showWays();
    this.#choose(now === undefined ? 0 : this.#option);
    const data = this.#optionAt(this.#option)?.data;
    throw new PayError(fill(this.#text("priceChanged"), { price: data === undefined ? "" : this.#priceOf(data) }));
  }

  /** Sends a payment until its outcome is known, and shows what came of it. */
  async #deliver(pending: Pending, isAgain = false): Promise<void> {
    this.#begin();
    this.#step("send", this.#text("waitSend"));
    const outcome = await send(pending, ACCEPT, {
      onSend: (attempt) => {
        this.#wasSentBefore ||= attempt > 0;
        this.#again.hidden = true;
        this.#say(this.#text("waitSend"));
      },
      onWait: ({ text, seconds, tryNow }) => {
        this.#say(fill(this.#text(text), { seconds: `${seconds}` }));
        this.#again.onclick = tryNow;
        this.#again.hidden = false;
      },
    });
    this.#again.hidden = true;
    await this.#conclude(outcome, pending, isAgain);
  }

  async #conclude(outcome: Outcome, pending: Pending, isAgain: boolean): Promise<void> {
    switch (outcome.kind) {
      case "refused":
        return this.#refuse(outcome, pending.option, isAgain);
      case "unclear":
        this.#fail(fill(this.#text("unclear"), { status: statusOf(outcome.response) }));
        return this.#show(outcome.response, undefined, pending);
      case "redirected":
        return this.#finish(undefined, pending, this.#text("redirected"));
      case "lost":
        return this.#finish(outcome.receipt, pending, this.#text("lost"));
      default:
        return this.#receive(outcome.response, outcome.receipt, pending);
    }
  }

  async #receive(response: Response, receipt: Receipt | undefined, pending: Pending): Promise<void> {
    const status = statusOf(response);
    const isPaid = receipt?.success === true;
    if (!response.ok && !isPaid) this.#fail(fill(this.#text("notCharged"), { status }));
    else this.#finish(receipt, pending, response.ok ? undefined : fill(this.#text("charged"), { status }));
    dropView();
    await this.#show(response, receipt, pending);
    const later = response.headers.get("PAYMENT-RECEIPT-URL");
    if (!isPaid && response.ok && later !== null) await this.#receiveReceipt(later, pending);
  }

  /** If the connection breaks, the same payment gets a copy of the response. */
  async #show(response: Response, receipt: Receipt | undefined, pending: Pending): Promise<void> {
    const isPaid = receipt?.success === true;
    const link = linkOf(receipt, pending.option, this.#text("viewTransaction"));
    const view = { label: this.#text(isPaid ? "paid" : "received"), close: this.#text("close"), link };
    try {
      await show(response, this.#result, { texts: this.#page.texts, view });
    } catch {
      if (!isPaid) return this.#say(this.#text("cut"));
      keepPending(pending);
      this.#again.textContent = this.#text("tryAgain");
      this.#again.onclick = () => location.reload();
      this.#again.hidden = false;
      this.#say(this.#text("cut"));
    }
  }

  /** A metered response is paid when it is over. */
  async #receiveReceipt(url: string, pending: Pending): Promise<void> {
    for (let attempt = 0; attempt < MOST_RECEIPT_QUESTIONS; attempt++) {
      const response = await fetch(url).catch(() => undefined);
      if (response === undefined || (response.status !== 202 && !response.ok)) return;
      const receipt = response.status === 202 ? undefined : readReceipt(await response.json().catch(() => undefined));
      if (receipt !== undefined) return this.#finish(receipt, pending, undefined);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }

  #refuse({ error, message = error }: Refused, option: OptionData, isAgain: boolean): Promise<void> | void {
    // A server that has lost its records does not know what became of an earlier request.
    if (this.#wasSentBefore) {
      this.#fail(fill(this.#text("refusedLater"), { reason: message }));
      return;
    }
    // A facilitator says only so much of a transaction whose blockhash has expired.
    const isOldBlock = option.family === "svm" && error === "invalid_transaction_state";
    const isExpired = isOldBlock || /expired|valid_before|block_?hash/i.test(error);
    if (isExpired && !isAgain && this.#wallet !== undefined) {
      this.#problem.replaceChildren(el("p", { class: "problem" }, this.#text("expired")));
      this.#isStale = true;
      return this.#pay(true);
    }
    const { networkName: network } = option;
    if (isExpired) this.#fail(this.#text("expired"));
    else if (/used|nonce|duplicate|already/i.test(error)) this.#fail(fill(this.#text("used"), { reason: error }));
    else if (/insufficient_(?:funds|balance)/.test(error)) this.#fail(fill(this.#text("noFundsUnknown"), { network }));
    else this.#fail(fill(this.#text("refused"), { reason: message }));
  }

  // What is said about it

  #begin(): void {
    this.#problem.replaceChildren();
    this.#result.replaceChildren();
    this.#setChoosable(false);
  }

  #setChoosable(can: boolean): void {
    this.#ways.disabled = !can;
    this.#purses.disabled = !can;
    this.#button.disabled = !can || this.#wallet === undefined;
  }

  #showSteps(wallet: Wallet, { requirements, data }: Option): void {
    const isPermit2 = requirements.scheme === "upto" || requirements.extra["assetTransferMethod"] === "permit2";
    const names: readonly [Step, string][] = [
      ["connect", "stepConnect"],
      ...(wallet.family === "evm" ? [["network", "stepNetwork"] as [Step, string]] : []),
      ...(isPermit2 ? [["allow", "stepAllow"] as [Step, string]] : []),
      ["sign", "stepSign"],
      ["send", "stepSend"],
    ];
    const values = { wallet: wallet.name, network: data.networkName, price: data.amount };
    this.#steps.replaceChildren(
      ...names.map(([step, text]) => el("li", { "data-step": step }, fill(this.#text(text), values))),
    );
    this.#steps.hidden = false;
  }

  #step(step: Step, text: string): void {
    let isPast = true;
    for (const item of this.#steps.children) {
      const isThis = (item as HTMLElement).dataset["step"] === step;
      if (isThis) isPast = false;
      item.className = isThis ? "active" : isPast ? "done" : "";
      if (isThis) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    }
    this.#say(text);
  }

  #say(text: string): void {
    this.#status.textContent = text;
  }

  #fail(text: string): void {
    this.#say("");
    for (const item of this.#steps.children) if (item.className === "active") item.className = "";
    this.#problem.replaceChildren(el("p", { class: "problem" }, text));
    this.#setChoosable(true);
    this.#showButton();
    this.#button.textContent = this.#button.disabled ? this.#button.textContent : this.#text("tryAgain");
  }

  /** The end: the receipt, in place of the choices. */
  #finish(receipt: Receipt | undefined, pending: Pending, note: string | undefined): void {
    const isPaid = receipt?.success === true;
    for (const part of [this.#ways, this.#purses, this.#balance, this.#button]) part.hidden = true;
    this.#steps.hidden = true;
    this.#say("");
    const { option, payer } = pending;
    const amount = receipt?.amount === undefined ? option.amount : amountText(BigInt(receipt.amount), option);
    const link = linkOf(receipt, option, this.#text("viewTransaction"));
    const heading = el("h2", { class: "good", tabindex: "-1" }, `\u2713 ${this.#text(isPaid ? "paid" : "received")}`);
    const rows: readonly (readonly [string, Node | string] | undefined)[] = [
      isPaid ? [this.#text("price"), `${amount} \u00b7 ${option.networkName}`] : undefined,
      [this.#text("payer"), el("code", { title: payer }, shorten(payer))],
      receipt === undefined || receipt.transaction === ""
        ? undefined
        : [this.#text("transaction"), el("code", { title: receipt.transaction }, shorten(receipt.transaction))],
    ];
    const list = rows.map((row) => row && el("div", {}, el("dt", {}, row[0]), el("dd", {}, row[1])));
    const anchor =
      link === null ? undefined : el("a", { href: link.url, target: "_blank", rel: "noopener noreferrer" }, link.text);
    const parts = [
      heading,
      note === undefined ? undefined : el("p", {}, note),
      el("dl", { "aria-label": this.#text("receipt") }, ...list),
      anchor,
    ];
    this.#problem.replaceChildren();
    document.getElementById("receipt")?.remove();
    this.#problem.after(el("div", { id: "receipt", class: "shown" }, ...parts));
    this.#root.parentElement?.classList.add("wide");
    heading.focus();
  }

  #text(name: string): string {
    return this.#page.texts[name] ?? name;
  }
}

function statusOf({ status, statusText }: Response): string {
  return `${status} ${statusText}`.trim();
}

function setText(id: string, text: string): void {
  const element = document.getElementById(id);
  if (element !== null) element.textContent = text;
}

/** The payee's ends, and all of it on demand. */
function showPayee(address: string, label: string): void {
  const short = el("code", {}, shorten(address));
  const button = el(
    "button",
    { type: "button", class: "small", "aria-label": `${label}: ${shorten(address)}` },
    "\u2026",
  );
  button.onclick = () => {
    short.textContent = address;
    button.remove();
  };
  document.getElementById("payee")?.replaceChildren(short, " ", button);
}

function linkOf(
  receipt: Receipt | undefined,
  { explorer }: OptionData,
  text: string,
): { readonly text: string; readonly url: string } | null {
  if (explorer === null || receipt === undefined || receipt.transaction === "") return null;
  const url = explorer.url.replace("{tx}", encodeURIComponent(receipt.transaction));
  return { text: fill(text, { explorer: explorer.name }), url };
}
