/**
 * What a question says about payment and method: `weather under 5 cents on Solana`, `cheapest POST endpoint for translations`.
 *
 * Words are read as conditions only in these forms. Whether they are meant so, the entries decide: see `asked.ts`.
 *
 * @module
 */
import { NAMED_NETWORKS, networkName } from "@farebox/bazaar/facilitator";

/** The conditions of a question. */
export interface Conditions {
  /** The question without its conditions. */
  readonly rest: string;
  /** The most that a call may cost, in units of 10⁻¹⁸ dollars. */
  readonly most?: bigint;
  /** Networks of one name, the main network first. */
  readonly networks?: readonly string[];
  readonly method?: string;
  readonly isFree: boolean;
  readonly isCheapestFirst: boolean;
}

const MAX_QUESTION = 500;

/** Spaces stand for one space: the question has no others. */
const word = (pattern: string, flags = "iu"): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}$.-])(?:${pattern})(?![\\p{L}\\p{N}-])`, flags);

const NUMBER = "\\d{1,6}(?:\\.\\d{1,16})?|\\.\\d{1,16}";
const MONEY = `\\$ ?(?<dollars>${NUMBER})(?: (?:usdc?|dollars?))?|(?<amount>${NUMBER}|a|one) ?(?<unit>cents?|¢|dollars?|usdc?|bucks?)`;
const PER = "(?: (?:per|an?|each) (?:call|request|query))?";
const COSTS = "(?:(?:that |which )?(?:for|at|costs?|costing|priced) )?";
const ABOVE = word(
  `${COSTS}(?:(?<below>under|below|less than|cheaper than|<)|at most|up to|no more than|not more than|max(?:imum)?(?: of)?|within|<=|≤) ?(?:${MONEY})${PER}`,
);
const OR_LESS = word(`${COSTS}(?:${MONEY})${PER} or (?:less|cheaper)${PER}`);

const FREE = word(
  "(?:for free|free of charge|(?:at|for) no c(?:ost|harge)|(?:that |which )?costs? nothing|without paying|free(?= (?:(?!-)[^ ]+ ){0,3}(?:apis?|services?|endpoints?|tools?)))|^free(?= )",
);
const CHEAPEST = word(
  "(?:the )?(?:cheapest|least expensive|most affordable|lowest[ -]priced?|(?:for|at) the lowest price)",
);

const METHODS = "GET|POST|PUT|PATCH|DELETE|HEAD";
/** In capitals, in a question that has other letters too. */
const METHOD = word(`(?:HTTP )?(?<method>${METHODS})(?: (?:endpoint|request|method|route)s?)?`, "u");
const METHOD_OF = word(`(?:http )?(?<method>${METHODS}) (?:endpoint|request|method)s?`);

/** Names in lower case: each with its networks, and with those whose name has one more word, such as `devnet`. */
const NETWORKS = namesOf(NAMED_NETWORKS);
const ON = word(
  `(?:(?:(?:paid|payable|pay|paying|payments?|settled|priced|available|in|with|usdc) ){0,3}on|(?:pay|paid|payable|paying) (?:with|in|via|through)) (?<network>${[...NETWORKS.keys()].join("|")})(?: (?:network|chain|blockchain|mainnet))?`,
);

/** Reads the conditions of a question; `undefined` when it has none. */
export function readConditions(question: string): Conditions | undefined {
  let rest = question.slice(0, MAX_QUESTION).replaceAll(/\s+/gu, " ").trim();
  let isAny = false;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    const found = pattern.exec(rest) ?? undefined;
    if (found === undefined) return undefined;
    isAny = true;
    rest = `${rest.slice(0, found.index)}${rest.slice(found.index + found[0].length)}`.replaceAll(/ +/g, " ").trim();
    return found;
  };
  const price = take(ABOVE) ?? take(OR_LESS);
  const network = take(ON)?.groups?.["network"]?.toLowerCase();
  const method = (take(METHOD_OF) ?? (/\p{Ll}/u.test(rest) ? take(METHOD) : undefined))?.groups?.["method"];
  const isFree = take(FREE) !== undefined;
  const isCheapestFirst = take(CHEAPEST) !== undefined;
  if (!isAny) return undefined;
  const networks = network === undefined ? undefined : NETWORKS.get(network);
  return {
    rest,
    ...(price === undefined ? {} : { most: mostOf(price.groups ?? {}) }),
    ...(networks === undefined ? {} : { networks }),
    ...(method === undefined ? {} : { method: method.toUpperCase() }),
    isFree,
    isCheapestFirst,
  };
}

/** `under` leaves the price itself out. */
function mostOf({ dollars, amount = "0", unit, below }: Readonly<Record<string, string | undefined>>): bigint {
  const isCents = unit !== undefined && /^(?:c|¢)/i.test(unit);
  const [whole = "", fraction = ""] = (dollars ?? amount).replace(/^(?:a|one)$/i, "1").split(".");
  const units = BigInt(`${whole}${fraction.padEnd(isCents ? 16 : 18, "0")}`);
  return below === undefined ? units : units - 1n;
}

function namesOf(networks: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const named = networks.map((network) => ({ network, name: (networkName(network) ?? network).toLowerCase() }));
  const names = new Set(named.map(({ name }) => name).sort((one, other) => other.length - one.length));
  const isOf = (other: string, name: string): boolean => other === name || other.startsWith(`${name} `);
  return new Map(
    [...names].map((name) => [name, named.filter((some) => isOf(some.name, name)).map(({ network }) => network)]),
  );
}
