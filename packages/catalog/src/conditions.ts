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
  /** The question without its words about price alone: a network or a method may be the subject. */
  readonly unpriced: string;
  /** The most that a call may cost, in units of 10⁻¹⁸ dollars. */
  readonly most?: bigint;
  /** The least that it may cost. */
  readonly least?: bigint;
  /** Networks of one name, the main network first. */
  readonly networks?: readonly string[];
  readonly method?: string;
  readonly isCheapestFirst: boolean;
}

const MAX_QUESTION = 500;

/** Spaces stand for one space: the question has no others. */
const word = (pattern: string, flags = "iu"): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}$.-])(?:${pattern})(?![\\p{L}\\p{N}-])`, flags);

const NUMBER = "[1-9]\\d{0,2}(?:,\\d{3}){1,2}(?:\\.\\d{1,16})?|\\d{1,6}(?:[.,]\\d{1,16})?|[.,]\\d{1,16}";
const UNIT = "cents?|penny|pennies|c|¢|dollars?|usdc?|bucks?";
const MONEY = `\\$ ?(?<dollars>${NUMBER})(?: (?:usdc?|dollars?))?|(?<amount>${NUMBER}|an?|one) ?(?<unit>${UNIT})`;
const PER = "(?: (?:per|an?|each) (?:call|request|query))?";
const COSTS = "(?:(?:that |which )?(?:for|at|costs?|costing|priced) )?";
const MORE = "(?:more|greater|higher)";
const LESS = "(?:less|lower|cheaper)";
/** How a price is compared. The longer forms stand first. */
const COMPARED = [
  `(?<most>${LESS} than or equal to|(?:no|not) ${MORE} than|not (?:over|above|exceeding)|at(?: the)? most|up to|max(?:imum)?(?: of)?|within|<=|≤)`,
  `(?<least>${MORE} than or equal to|(?:no|not) ${LESS} than|not (?:under|below)|at(?: the)? least|min(?:imum)?(?: of)?|>=|≥)`,
  `(?<below>under|below|${LESS} than|<)`,
  `(?<above>over|above|exceeding|${MORE} than|>)`,
].join("|");
/** Behind another negation a price is no condition: `nothing under 5 cents`. */
const NOT = "(?<!(?:not|no|never|nothing|none|nor|n't|without) (?:for |at |costs? |costing |priced )?)";
const PRICE = word(`${NOT}${COSTS}(?:${COMPARED}) ?(?:${MONEY})${PER}`);
const PRICE_FIRST = word(
  `${NOT}${COSTS}(?:${MONEY})${PER} (?:(?<most>or (?:less|cheaper|below|under)|max(?:imum)?|at(?: the)? most)|(?<least>or (?:more|above)))${PER}`,
);

/** No service costs nothing, so `free` asks for the cheapest. */
const FREE = word(
  "for free|free of charge|(?:at|for) no c(?:ost|harge)|(?:that |which )?costs? nothing|without paying|free(?= (?:(?!-)[^ ]+ ){0,3}(?:apis?|services?|endpoints?|tools?))|^free(?= |$)",
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
  const whole = question.slice(0, MAX_QUESTION).replaceAll(/\s+/gu, " ").trim();
  let rest = whole;
  let isAny = false;
  const take = (pattern: RegExp): Groups | undefined => {
    const found = pattern.exec(rest);
    if (found === null) return undefined;
    isAny = true;
    rest = `${rest.slice(0, found.index)}${rest.slice(found.index + found[0].length)}`.replaceAll(/ +/g, " ").trim();
    return found.groups ?? {};
  };
  const takeAll = (pattern: RegExp): readonly Groups[] => {
    const taken: Groups[] = [];
    for (let found = take(pattern); found !== undefined; found = take(pattern)) taken.push(found);
    return taken;
  };
  const limits = [...takeAll(PRICE), ...takeAll(PRICE_FIRST)].map(limitOf);
  const cheapest = [...takeAll(FREE), ...takeAll(CHEAPEST)];
  const unpriced = rest;
  const network = take(ON)?.["network"]?.toLowerCase();
  const method = (take(METHOD_OF) ?? (/\p{Ll}/u.test(whole) ? take(METHOD) : undefined))?.["method"];
  if (!isAny) return undefined;
  const most = limits.flatMap((limit) => limit.most ?? []).reduce(lesser, undefined);
  const least = limits.flatMap((limit) => limit.least ?? []).reduce(greater, undefined);
  const networks = network === undefined ? undefined : NETWORKS.get(network);
  return {
    rest,
    unpriced,
    ...(most === undefined ? {} : { most }),
    ...(least === undefined ? {} : { least }),
    ...(networks === undefined ? {} : { networks }),
    ...(method === undefined ? {} : { method: method.toUpperCase() }),
    isCheapestFirst: cheapest.length > 0,
  };
}

type Groups = Readonly<Record<string, string | undefined>>;

/** `under` leaves the price itself out. */
function limitOf(groups: Groups): Pick<Conditions, "most" | "least"> {
  const { below, above, most } = groups;
  const units = unitsOf(groups);
  if (below !== undefined) return { most: units - 1n };
  if (above !== undefined) return { least: units + 1n };
  return most === undefined ? { least: units } : { most: units };
}

/** A comma before three digits groups them, unless nothing stands before: `1,000` and `0,001`. */
function unitsOf({ dollars, amount = "0", unit }: Groups): bigint {
  const isCents = unit !== undefined && /^(?:c|¢|penn)/i.test(unit);
  const plain = (dollars ?? amount)
    .replace(/^(?:an?|one)$/i, "1")
    .replaceAll(/(?<=^[1-9]\d{0,2}(?:,\d{3})?),(?=\d{3}(?!\d))/g, "")
    .replace(",", ".");
  const [whole = "", fraction = ""] = plain.split(".");
  return BigInt(`${whole}${fraction.padEnd(isCents ? 16 : 18, "0")}`);
}

const lesser = (one: bigint | undefined, other: bigint): bigint => (one === undefined || other < one ? other : one);
const greater = (one: bigint | undefined, other: bigint): bigint => (one === undefined || other > one ? other : one);

function namesOf(networks: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const named = networks.map((network) => ({ network, name: (networkName(network) ?? network).toLowerCase() }));
  const names = new Set(named.map(({ name }) => name).sort((one, other) => other.length - one.length));
  const isOf = (other: string, name: string): boolean => other === name || other.startsWith(`${name} `);
  return new Map(
    [...names].map((name) => [name, named.filter((some) => isOf(some.name, name)).map(({ network }) => network)]),
  );
}
