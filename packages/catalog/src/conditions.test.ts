import { expect, test } from "vitest";
import { type Conditions, readConditions } from "./conditions.js";

const CENT = 10n ** 16n;
const SOLANA = /^solana:/;

/** What a question says, in short: `4c` is the most, `<4c` less than that, `4c+` the least, `>4c` more than that. */
function told(question: string): string | undefined {
  const read = readConditions(question);
  const { rest, networks, method, isCheapestFirst } = read ?? {};
  const order = isCheapestFirst ? "cheapest" : "";
  return read && [rest, ...prices(read), networks?.[0]?.split(":")[0], method, order].filter(Boolean).join(" | ");
}

function prices({ most, least }: Conditions): readonly string[] {
  const upper = most === undefined ? "" : most % CENT === CENT - 1n ? `<${(most + 1n) / CENT}c` : `${most / CENT}c`;
  const lower = least === undefined ? "" : least % CENT === 1n ? `>${least / CENT}c` : `${least / CENT}c+`;
  return [lower, upper];
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
  ["free weather API", "weather API | cheapest"],
  ["weather for free", "weather | cheapest"],
  ["free free free", "cheapest"],
  ["weather under 1c", "weather | <1c"],
  ["weather under 1¢", "weather | <1c"],
  ["weather below a cent", "weather | <1c"],
  ["weather for less than a penny", "weather | <1c"],
  ["weather at most $0,01", "weather | 1c"],
  ["weather at most 0,5 dollars", "weather | 50c"],
  ["weather up to $1,000", "weather | 100000c"],
  ["weather up to $1,234,567.5", "weather | 123456750c"],
  ["weather less than or equal to 2 cents", "weather | 2c"],
  ["weather no more than 2 cents", "weather | 2c"],
  ["weather that costs not over 2 cents", "weather | 2c"],
  ["weather, 2 cents max", "weather, | 2c"],
  ["weather under $5 under 1 cent", "weather | <1c"],
  ["weather at most 1 cent, up to $2 or for 3 cents or less", "weather , or | 1c"],
  ["weather over 1 cent and under 5 cents", "weather and | >1c | <5c"],
  ["weather more than 1 cent", "weather | >1c"],
  ["weather at least 2 cents", "weather | 2c+"],
  ["weather not under 1 cent", "weather | 1c+"],
  ["weather no less than 1 cent", "weather | 1c+"],
  ["weather for 3 cents or more", "weather | 3c+"],
  ["nothing under 1 cent", undefined],
  ["weather that does not cost less than 1 cent", undefined],
  ["weather never for less than 1 cent", undefined],
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
