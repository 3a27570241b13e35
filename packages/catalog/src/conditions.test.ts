import { expect, test } from "vitest";
import { type Conditions, readConditions } from "./conditions.js";

const CENT = 10n ** 16n;
const SOLANA = /^solana:/;

/** What a question says, in short: `4c` is the most, `<4c` less than that. */
function told(question: string): string | undefined {
  const read = readConditions(question);
  return (
    read &&
    [read.rest, price(read), read.networks?.[0]?.split(":")[0], read.method, order(read)].filter(Boolean).join(" | ")
  );
}

function price({ most }: Conditions): string | undefined {
  if (most === undefined) return undefined;
  return most % CENT === CENT - 1n ? `<${(most + 1n) / CENT}c` : `${most / CENT}c`;
}

function order({ isFree, isCheapestFirst }: Conditions): string {
  return [isFree ? "free" : "", isCheapestFirst ? "cheapest" : ""].join("");
}

test.each([
  ["weather under 5 cents", "weather | <5c"],
  ["weather for less than $0.05 per call", "weather | <5c"],
  ["weather that costs at most 4¢", "weather | 4c"],
  ["weather below a dollar", "weather | <100c"],
  ["translation, up to 0.25 USDC", "translation, | 25c"],
  ["translation <$.10", "translation | <10c"],
  ["weather for 3 cents or less", "weather | 3c"],
  ["weather on Solana", "weather | solana"],
  ["weather on the moon", undefined],
  ["weather paid in USDC on Base", "weather | eip155"],
  ["weather payable with Solana", "weather | solana"],
  ["weather on Base Sepolia network", "weather | eip155"],
  ["POST endpoint that translates text", "that translates text | POST"],
  ["translate a text with a post request", "translate a text with a | POST"],
  ["translate a text, POST", "translate a text, | POST"],
  ["post a letter", undefined],
  ["POST OFFICE", undefined],
  ["cheapest translation", "translation | cheapest"],
  ["the least expensive way to translate", "way to translate | cheapest"],
  ["free weather API", "weather API | free"],
  ["weather for free", "weather | free"],
  ["free-range eggs recipe", undefined],
  ["sugar-free cake", undefined],
  ["is parking free near me", undefined],
  ["cheapest weather under 1 cent on solana", "weather | <1c | solana | cheapest"],
  ["hotels", undefined],
])("%s", (question, expected) => {
  expect(told(question)).toBe(expected);
});

test("a name stands for its test networks too, the main network first", () => {
  expect(readConditions("weather on Base")?.networks).toEqual(["eip155:8453", "eip155:84532"]);
  expect(readConditions("weather on solana devnet")?.networks).toEqual(["solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"]);
  expect(readConditions("weather on solana")?.networks).toHaveLength(3);
  expect(readConditions("weather on solana")?.networks?.every((network) => SOLANA.test(network))).toBe(true);
});

test("amounts are exact, and any text is read", () => {
  expect(readConditions("at most $0.0000000000000001")?.most).toBe(100n);
  expect(readConditions("at most 0.0000000000000001 cents")?.most).toBe(1n);
  const parts = ["under ", "$", "5", ".", " ", "on ", "free ", "POST ", "a ", "\ud800", "¢", "each "];
  for (const part of parts)
    for (const other of parts) expect(() => readConditions(`${part}${other}`.repeat(400))).not.toThrow();
});
