/**
 * Types of prices: amounts are bigints, prices are strings, and a parsed price has an amount only if it is valid.
 *
 * @module
 */
import { type DollarPrice, formatAmount, parseAtomic, parsePrice, type TickerPrice } from "./price.js";

const parsed = parsePrice("$1", [{ symbol: "USDC", decimals: 6, address: "0x" }]);
// @ts-expect-error it may be invalid
parsed.amount;
if (parsed.ok) [parsed.amount satisfies bigint, parsed.asset.address satisfies string];
else parsed.expected satisfies string;

// @ts-expect-error an amount is not a number
if (parsed.ok) parsed.amount satisfies number;
// @ts-expect-error a price is a string
parsePrice(1, []);
// @ts-expect-error the assets are missing
parsePrice("$1");
// @ts-expect-error an asset has a ticker
parsePrice("$1", [{ decimals: 6 }]);
// @ts-expect-error atomic units are a string of digits
parseAtomic(10_000);
// @ts-expect-error an amount is not a number
formatAmount(1, 6);

"$1" satisfies DollarPrice;
"$0.000001" satisfies DollarPrice;
// @ts-expect-error the currency comes first
"1$" satisfies DollarPrice;
// @ts-expect-error no digits
"$" satisfies DollarPrice;

"0.10 USDT" satisfies TickerPrice;
"$0.10 USDT" satisfies TickerPrice;
// @ts-expect-error no space
"0.10USDT" satisfies TickerPrice;
// @ts-expect-error no ticker, and no dollars
"0.10" satisfies TickerPrice;
// @ts-expect-error the ticker comes last
"USDT 0.10" satisfies TickerPrice;
// @ts-expect-error a space after the sign
"$ 0.10" satisfies TickerPrice;
