/**
 * Finds the places of a seller's file whose behavior changes. Each difference has a heading in
 * `docs/reference/compat-differences.md`, where the whole of it is told.
 *
 * @module
 */
import { type ImportedName, isName, isSign } from "./imports.js";
import { type Token, textOf } from "./tokens.js";

/** A place whose behavior changes. */
export interface Finding {
  readonly line: number;
  /** The heading in `docs/reference/compat-differences.md`. */
  readonly difference: string;
  /** `decide`: the file does not start, or serves in another way, until it is changed. `note`: nothing needs to be done. */
  readonly level: "decide" | "note";
  readonly text: string;
}

/** A source in which differences are looked for. */
export interface SellersFile {
  readonly tokens: readonly Token[];
  /** What the file imports from the reference, by the name that the file uses. */
  readonly imported: readonly ImportedName[];
  lineOf(token: Token | undefined): number;
}

type Rule = (file: SellersFile) => readonly Finding[];

/** Every difference that the file has a place for, in the order of its lines. */
export function findDifferences(file: SellersFile): readonly Finding[] {
  const found = RULES.flatMap((rule) => rule(file));
  return found.sort((one, other) => one.line - other.line);
}

/** Hooks whose errors deny, and what the reference does then. */
const FAIL_CLOSED: ReadonlyMap<string, string> = new Map([
  ["onProtectedRequest", "the reference answers 500"],
  ["onBeforeVerify", "the reference goes on without the hook"],
  ["onBeforeSettle", "the reference goes on without the hook"],
]);

const ABSENT_METHODS: readonly string[] = [
  "processHTTPRequest",
  "processPaymentRequest",
  "processSettlement",
  "requiresPayment",
  "validateExtensions",
  "enrichExtensions",
  "getPaymentFlow",
  "createPaymentCancellationDispatcher",
];

const RULES: readonly Rule[] = [
  // Hooks
  forEachHook((hook) => {
    const theirs = FAIL_CLOSED.get(hook);
    if (theirs === undefined) return undefined;
    return note("hooks-that-throw", `an error that ${hook} throws denies the request with 403; ${theirs}`);
  }),
  forEachProperty(/^recovered$/, (value) =>
    value === "true" ? decide("recovered", "`recovered` is refused: a payment that failed does not pay") : undefined,
  ),
  forEachProperty(/^skip$/, (value, file, at) =>
    value === "true" && hookAround(file, at) !== "onBeforeVerify"
      ? decide("skip", "`skip` in onBeforeSettle is refused; in onBeforeVerify no facilitator is asked")
      : undefined,
  ),
  ...["ExactEvmScheme", "UptoEvmScheme", "ExactSvmScheme", "ExactAvmScheme"].map((name) =>
    forEachSequence(["extends", name], ownScheme),
  ),
  forEachSequence(["implements", "SchemeNetworkServer"], ownScheme),
  forEachSequence([".", "adapter", "as"], () =>
    note("adapter", "the adapter has the nine methods of the reference and `req`; other private fields are not there"),
  ),
  forEachSequence([".", "accepts", "."], mutation),
  forEachSequence([".", "accepts", "="], (file, at) => (isSign(file.tokens[at + 3], "=") ? undefined : offersBuilt())),
  // Facilitators
  forEachNew("HTTPFacilitatorClient", (file, args) => {
    const isUrlless = args.length === 0 || isObjectWithout(file.tokens, args[0], "url");
    return isUrlless
      ? decide("facilitator-url", "HTTPFacilitatorClient needs a url: the reference would ask x402.org")
      : undefined;
  }),
  forEachNew("x402ResourceServer", (_file, args) =>
    args.length === 0
      ? decide("facilitator-url", "x402ResourceServer needs a facilitator: the reference would ask x402.org")
      : undefined,
  ),
  forEachCall("paymentMiddlewareFromConfig", (_file, args) =>
    args.length < 2
      ? decide("facilitator-url", "paymentMiddlewareFromConfig needs a facilitator: the reference would ask x402.org")
      : undefined,
  ),
  ...["createSIWxRequestHook", "createSIWxResourceServerExtension"].map((name) =>
    forEachCall(name, (file, args) =>
      isObjectWithout(file.tokens, args[0], "origin")
        ? decide("sign-in-origin", "name the `origin`: without it wallets sign in on this machine only")
        : undefined,
    ),
  ),
  forEachCall("declareSIWxExtension", () =>
    note("sign-in", "a purchase grants GET requests to the path and query that were paid for, and no others"),
  ),
  forEachNew("ExactSvmScheme", (file, [options]) => {
    const hasUrl = options !== undefined && file.tokens.slice(...options).some((each) => isName(each, "rpcUrl"));
    return hasUrl ? note("rpcurl", "rpcUrl is not used: no node is asked for a challenge") : undefined;
  }),
  // Start
  ...(
    [
      ["paymentMiddleware", 4],
      ["paymentMiddlewareFromConfig", 5],
      ["paymentMiddlewareFromHTTPServer", 3],
    ] as const
  ).map(([name, at]) =>
    forEachCall(name, (file, args) => {
      const isFalse = isName(file.tokens[args[at]?.[0] ?? -1], "false");
      return isFalse
        ? note(
            "sync-facilitator-on-start",
            "syncFacilitatorOnStart is not needed: facilitators are asked when they are first needed",
          )
        : undefined;
    }),
  ),
  forEachSequence([".", "initialize", "("], () =>
    note("start", "initialize() rejects where the reference ends the process, and names every mistake at once"),
  ),
  required,
  ...ABSENT_METHODS.map((name) =>
    forEachSequence([".", name, "("], () =>
      decide("absent-methods", `there is no ${name}: it serves other frameworks`),
    ),
  ),
  forEachExtends("x402HTTPResourceServer"),
  forEachExtends("x402ResourceServer"),
  // Routes
  routeKeys,
  forEachSequence([".", "use", "("], (file, at) => {
    const path = textOf(file.tokens[at + 3]);
    const next = file.tokens[at + 5];
    const isPriced = next !== undefined && /^paymentMiddleware/.test(nameOf(file, next.text) ?? "");
    return path !== undefined && path !== "/" && isPriced
      ? note("mounts", `mounted at ${path}: a key with the full path is priced too; the reference serves it free`)
      : undefined;
  }),
  forEachProperty(/^paymentFlow$/, (value) =>
    value === "escrow"
      ? decide("escrow", "`escrow` is refused; `upfront` settles before the handler")
      : value === "upfront"
        ? note(
            "upfront",
            "`upfront` settles before the handler; a payment with an unknown outcome is answered with 503",
          )
        : undefined,
  ),
  ...["UptoSvmScheme", "BatchSettlementEvmScheme"].map((name) =>
    forEachSequence(["new", name, "("], () => decide("escrow", `${name} settles by escrow, and is refused at start`)),
  ),
  forEachProperty(/^price$/, (value) =>
    /^\$?0*\.0{6}\d*$/.test(value.trim())
      ? decide(
          "amounts",
          `${value} is less than the smallest unit of a token with 6 decimals: it is refused, not cut to zero`,
        )
      : undefined,
  ),
  forEachProperty(/^maxTimeoutSeconds$/, (value) =>
    /^\d+$/.test(value) && (Number(value) < 10 || Number(value) > 86_400)
      ? decide("timeouts", `${value} seconds are refused: a payment is valid for 10 to 86400`)
      : undefined,
  ),
  forEachProperty(/^description$/, (value) =>
    value.length > 500 ? note("descriptions", `a description of ${value.length} characters is cut to 500`) : undefined,
  ),
  // Handlers
  forEachSequence([".", "redirect", "("], () =>
    note(
      "redirects",
      "a redirect to a priced route of yours is not charged, only what it leads to; the reference charges both",
    ),
  ),
  forEachSequence([".", "status", "("], notModified),
  forEachSequence([".", "sendStatus", "("], notModified),
  forEachSequence([".", "writeHead", "("], (file, at) =>
    /^(?:304|[45]\d\d)$/.test(file.tokens[at + 3]?.text ?? "")
      ? note(
          "responses-that-are-not-charged",
          "a status that writeHead sets is not charged; the reference charges for it",
        )
      : undefined,
  ),
  firstVersion,
  forEachSequence([".", "settlePayment", "("], () =>
    note(
      "by-hand",
      "settlePayment rejects if the outcome is unknown: the money may have moved, so respond with 503 and no new challenge",
    ),
  ),
  forEachSequence([".", "verifyPayment", "("], () =>
    note("by-hand", "a payment is valid once, and settles once; the reference leaves that to the facilitator"),
  ),
  swallowedOverrides,
  overridesByHand,
  forEachCall("setSettlementOverrides", (file, args) => {
    const [from = 0, to = 0] = args[1] ?? [];
    const at = file.tokens.findIndex((each, index) => index >= from && index < to && isName(each, "amount"));
    const isNumber = at !== -1 && file.tokens[at + 2]?.kind === "number";
    return isNumber
      ? decide(
          "overrides",
          "the amount is a string; anything else throws here, where the reference charges the maximum",
        )
      : undefined;
  }),
];

function note(difference: string, text: string): Omit<Finding, "line"> {
  return { difference, level: "note", text };
}

function decide(difference: string, text: string): Omit<Finding, "line"> {
  return { difference, level: "decide", text };
}

function offersBuilt(): Omit<Finding, "line"> {
  return decide("offers", "offers that a hook changes are ignored: state them in the route's `accepts`");
}

function mutation(file: SellersFile, at: number): Omit<Finding, "line"> | undefined {
  return /^(push|splice|unshift|pop|shift)$/.test(file.tokens[at + 3]?.text ?? "") ? offersBuilt() : undefined;
}

/** What the reference calls a name of the file. */
function nameOf(file: SellersFile, local: string): string | undefined {
  return file.imported.find((each) => each.local === local)?.name;
}

/** Where the file mentions a name that it imports from the reference: by itself, or as a member of the whole module. */
function mentions(file: SellersFile, name: string): readonly number[] {
  return file.tokens.flatMap((token, at) => {
    if (token.kind !== "name") return [];
    const isMember = isSign(file.tokens[at - 1], ".");
    return (isMember ? token.text === name : nameOf(file, token.text) === name) ? [at] : [];
  });
}

/** The first token of `module.name`, for the one of `name`. */
function beginningOf(tokens: readonly Token[], at: number): number {
  let first = at;
  while (isSign(tokens[first - 1], ".")) first -= 2;
  return first;
}

/** Where the arguments of a call begin and end, in tokens. */
function argumentsAt(tokens: readonly Token[], open: number): readonly (readonly [number, number])[] {
  const found: (readonly [number, number])[] = [];
  let depth = 0;
  let from = open + 1;
  for (let at = open; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    if (token.kind === "template") depth += Number(token.text.endsWith("${")) - Number(token.text.startsWith("}"));
    if (token.kind !== "sign") continue;
    if (/^[([{]$/.test(token.text)) depth++;
    else if (/^[)\]}]$/.test(token.text)) depth--;
    const isEnd = depth === 0;
    if (isEnd || (depth === 1 && token.text === ",")) {
      if (at > from) found.push([from, at]);
      from = at + 1;
    }
    if (isEnd) break;
  }
  return found;
}

/** Whether an argument is an object literal in which neither the key nor a spread stands. */
function isObjectWithout(
  tokens: readonly Token[],
  argument: readonly [number, number] | undefined,
  key: string,
): boolean {
  if (argument === undefined || !isSign(tokens[argument[0]], "{")) return false;
  const parts = tokens.slice(...argument);
  const hasSpread = parts.some((each, at) => isSign(each, ".") && isSign(parts[at + 1], "."));
  return !hasSpread && !parts.some((each) => isName(each, key) || textOf(each) === key);
}

type Check = (file: SellersFile, args: readonly (readonly [number, number])[]) => Omit<Finding, "line"> | undefined;

/** Calls of a function of the reference. */
function forEachCall(name: string, check: Check): Rule {
  return (file) =>
    mentions(file, name).flatMap((at) => {
      if (!isSign(file.tokens[at + 1], "(") || isName(file.tokens[at - 1], "new")) return [];
      const finding = check(file, argumentsAt(file.tokens, at + 1));
      return finding === undefined ? [] : [{ line: file.lineOf(file.tokens[at]), ...finding }];
    });
}

/** Instances of a class of the reference. */
function forEachNew(name: string, check: Check): Rule {
  return (file) =>
    mentions(file, name).flatMap((at) => {
      if (!isName(file.tokens[beginningOf(file.tokens, at) - 1], "new")) return [];
      const finding = check(file, isSign(file.tokens[at + 1], "(") ? argumentsAt(file.tokens, at + 1) : []);
      return finding === undefined ? [] : [{ line: file.lineOf(file.tokens[at]), ...finding }];
    });
}

function forEachExtends(name: string): Rule {
  return (file) =>
    mentions(file, name).flatMap((at) =>
      isName(file.tokens[beginningOf(file.tokens, at) - 1], "extends")
        ? [
            {
              line: file.lineOf(file.tokens[at]),
              ...decide("subclasses", `a subclass of ${name} is refused: its methods are not called; use hooks`),
            },
          ]
        : [],
    );
}

/** `.onBeforeVerify(…)` and its kin. */
function forEachHook(check: (hook: string) => Omit<Finding, "line"> | undefined): Rule {
  return (file) =>
    file.tokens.flatMap((token, at) => {
      if (!/^on[A-Z]/.test(token.text) || !isSign(file.tokens[at - 1], ".") || !isSign(file.tokens[at + 1], "("))
        return [];
      const finding = check(token.text);
      return finding === undefined ? [] : [{ line: file.lineOf(token), ...finding }];
    });
}

/** `key: value`, where the value is a literal or a name. */
function forEachProperty(
  key: RegExp,
  check: (value: string, file: SellersFile, at: number) => Omit<Finding, "line"> | undefined,
): Rule {
  return (file) =>
    file.tokens.flatMap((token, at) => {
      if (!key.test(token.kind === "name" ? token.text : (textOf(token) ?? "")) || !isSign(file.tokens[at + 1], ":"))
        return [];
      const value = file.tokens[at + 2];
      const finding = value === undefined ? undefined : check(textOf(value) ?? value.text, file, at);
      return finding === undefined ? [] : [{ line: file.lineOf(token), ...finding }];
    });
}

/** The hook that a place is written in: the last one that is registered in front of it. */
function hookAround({ tokens }: SellersFile, at: number): string | undefined {
  const names = tokens.slice(0, at).map((token, index) => (isSign(tokens[index - 1], ".") ? token.text : ""));
  return names.findLast((name) => /^on(?:Before|After|Verif|Settle|Protected)/.test(name));
}

/** Names and signs that follow each other. */
function forEachSequence(
  texts: readonly string[],
  check: (file: SellersFile, at: number) => Omit<Finding, "line"> | undefined,
): Rule {
  return (file) =>
    file.tokens.flatMap((_token, at) => {
      const isThere = texts.every((text, index) => {
        const token = file.tokens[at + index];
        return isSign(token, text) || isName(token, text);
      });
      const finding = isThere ? check(file, at) : undefined;
      return finding === undefined ? [] : [{ line: file.lineOf(file.tokens[at + 1]), ...finding }];
    });
}

/** `require("@x402/express")`. */
function required(file: SellersFile): readonly Finding[] {
  const at = file.tokens.findIndex(
    (token, index) =>
      isName(token, "require") &&
      isSign(file.tokens[index + 1], "(") &&
      /^(@x402\/|x402-express)/.test(textOf(file.tokens[index + 2]) ?? ""),
  );
  if (at === -1) return [];
  const text = "Farebox is ES modules: `require` of them needs Node 20.19, 22.12 or newer";
  return [{ line: file.lineOf(file.tokens[at]), ...note("commonjs", text) }];
}

/** `try { setSettlementOverrides(…) } catch`: the error that says that nothing is charged is not seen. */
function swallowedOverrides(file: SellersFile): readonly Finding[] {
  const calls = mentions(file, "setSettlementOverrides").filter((at) => isSign(file.tokens[at + 1], "("));
  if (calls.length === 0) return [];
  const tries = file.tokens.flatMap((token, at) => {
    if (!isName(token, "try") || !isSign(file.tokens[at + 1], "{")) return [];
    return [[at, file.tokens.indexOf(endOfBlock(file.tokens, at + 1))] as const];
  });
  const text = "an amount that is refused throws, and nothing is charged, even if `catch` goes on: the response is 500";
  return calls
    .filter((at) => tries.some(([from, to]) => from < at && at < to))
    .map((at) => ({ line: file.lineOf(file.tokens[at]), ...note("overrides", text) }));
}

/** The brace that closes a block. */
function endOfBlock(tokens: readonly Token[], open: number): Token {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    if (isSign(token, "{")) depth++;
    else if (isSign(token, "}") && --depth === 0) return token;
  }
  return tokens.at(-1) as Token;
}

/** `res.setHeader(SETTLEMENT_OVERRIDES_HEADER, …)`, also by the header's name. */
function overridesByHand(file: SellersFile): readonly Finding[] {
  const byName = mentions(file, "SETTLEMENT_OVERRIDES_HEADER").filter((at) => !isPartOfImport(file, at));
  const byText = file.tokens.flatMap((token, at) =>
    hasMiddleware(file) && textOf(token)?.toLowerCase() === "settlement-overrides" ? [at] : [],
  );
  const text =
    "call setSettlementOverrides: an amount in a header that cannot be charged is a 500, and nothing is charged";
  return [...byName, ...byText].map((at) => ({ line: file.lineOf(file.tokens[at]), ...note("overrides", text) }));
}

/** Whether a name stands where it is imported. */
function isPartOfImport({ tokens }: SellersFile, at: number): boolean {
  let from = at;
  while (isSign(tokens[from - 1], ",") || tokens[from - 1]?.kind === "name") from--;
  if (!isSign(tokens[from - 1], "{")) return false;
  return /^(import|export|const|let|var|type)$/.test(tokens[from - 2]?.text ?? "");
}

/** `"GET /x": …`: what is priced by it here and not with the reference. */
function routeKeys(file: SellersFile): readonly Finding[] {
  if (!hasMiddleware(file)) return [];
  return file.tokens.flatMap((token, at) => {
    const key = isSign(file.tokens[at + 1], ":") ? textOf(token) : undefined;
    const [, method, path] = /^(?:([A-Z]+|\*) +)?(\/\S*)$/.exec(key ?? "") ?? [];
    if (path === undefined || !(isSign(file.tokens[at - 1], "{") || isSign(file.tokens[at - 1], ","))) return [];
    const line = file.lineOf(token);
    if (/[{}]|\*\w|.\/$/.test(path))
      return [{ line, ...note("keys", "the key is priced; with the reference it matches nothing") }];
    if (method === "GET") return [{ line, ...note("head", "HEAD is priced like GET; the reference serves it free") }];
    if (method === "ALL") return [{ line, ...note("all", "ALL prices every method; the reference prices none") }];
    return [];
  });
}

/** Whether the reference's middleware guards routes of this file; a server that does it by hand has no keys. */
function hasMiddleware(file: SellersFile): boolean {
  return file.imported.some(({ name }) => /^(paymentMiddleware|x402HTTPResourceServer)/.test(name));
}

function ownScheme(): Omit<Finding, "line"> {
  return note("hosted-schemes", "the scheme is hosted: each challenge waits for it");
}

function notModified(file: SellersFile, at: number): Omit<Finding, "line"> | undefined {
  return file.tokens[at + 3]?.text === "304"
    ? note("responses-that-are-not-charged", "a 304 is not charged; the reference charges for it")
    : undefined;
}

/** `req.headers["x-payment"]`, `req.get("X-PAYMENT")`, unless the header of the second version is read as well. */
function firstVersion(file: SellersFile): readonly Finding[] {
  if (!hasMiddleware(file)) return [];
  const reads = file.tokens.flatMap((token, at) => {
    const name = textOf(token)?.toLowerCase() ?? "";
    return /^(payment-signature|x-payment)$/.test(name) && isRead(file.tokens, at) ? [{ name, token }] : [];
  });
  const [first] = reads;
  if (first === undefined || reads.some(({ name }) => name === "payment-signature")) return [];
  const text = "X-PAYMENT is the header of the first version of the protocol; clients send PAYMENT-SIGNATURE";
  return [{ line: file.lineOf(first.token), ...note("the-first-version", text) }];
}

/** Not a list of headers for CORS: `headers["x"]`, `req.get("x")`, `req.header("x")`. */
function isRead(tokens: readonly Token[], at: number): boolean {
  const [open, owner] = [tokens[at - 1], tokens[at - 2]];
  if (isSign(open, "[")) return isName(owner, "headers");
  return isSign(open, "(") && /^(get|header)$/.test(owner?.text ?? "") && isSign(tokens[at - 3], ".");
}
