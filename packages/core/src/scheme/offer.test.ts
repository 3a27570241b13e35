import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AcceptedRequirements } from "../protocol/documents.js";
import { createOffer, MATCHED_FIELDS, matchOffer, type Offer, type SettleTime } from "./offer.js";
import type { Scheme } from "./scheme.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

function offer({
  scheme = "exact",
  network = "eip155:84532",
  asset = USDC,
  payTo = PAY_TO,
  amount = 10_000n,
  extra = {},
  settle = "after",
}: Partial<Record<"scheme" | "network" | "asset" | "payTo", string>> & {
  amount?: bigint;
  extra?: Readonly<Record<string, unknown>>;
  settle?: SettleTime;
} = {}): Offer {
  const unused = () => {
    throw new TypeError("not needed to match");
  };
  const implementation: Scheme = {
    scheme,
    networks: "eip155:*",
    compileTerms: unused,
    readPayment: unused,
    sameAddress: (a, b) => a.toLowerCase() === b.toLowerCase(),
  };
  return createOffer(
    implementation,
    { asset: { id: asset, symbol: "USDC", decimals: 6, extra: { name: "USDC" } }, amount, payTo, isInDollars: true },
    { network, maxTimeoutSeconds: 60, extra, settle },
  );
}

const ACCEPTED = { scheme: "exact", network: "eip155:84532", asset: USDC, payTo: PAY_TO, amount: "10000" };

describe("matchOffer", () => {
  test.each<[accepted: object, why: string]>([
    [ACCEPTED, "as offered"],
    [{ ...ACCEPTED, asset: USDC.toLowerCase(), payTo: PAY_TO.toLowerCase() }, "addresses in lower case"],
    [{ ...ACCEPTED, asset: USDC.toUpperCase() }, "addresses in upper case"],
    [{ ...ACCEPTED, extra: { name: "Other" }, maxTimeoutSeconds: 1, resource: "x" }, "what does not identify"],
    [{ ...ACCEPTED, extra: null }, "an extra of null"],
    [{ ...ACCEPTED, amount: undefined, maxAmountRequired: "10000" }, "the amount under its older name"],
    [{ ...ACCEPTED, maxAmountRequired: "1" }, "the newer name wins"],
  ])("takes %j: %s", (accepted) => {
    const ours = offer();
    expect(matchOffer([ours], accepted as AcceptedRequirements)).toEqual({ kind: "matched", offer: ours });
  });

  test.each<[extra: object | null | undefined, at: number, why: string]>([
    [{ name: "USDC", assetTransferMethod: "permit2" }, 1, "the second's"],
    [{ name: "USDC", assetTransferMethod: "permit2", quote: "new", feePayer: "f" }, 1, "with what others add"],
    [{ name: "USDC", paymentFlow: "upfront" }, 2, "the third's"],
    [{ name: "USDC" }, 0, "the first's"],
    [{}, 0, "an empty one"],
    [null, 0, "null"],
    [undefined, 0, "none"],
  ])("takes the offer that has the client's extra %j: %s", (extra, at) => {
    const offers = [
      offer({ extra: { quote: "old" } }),
      offer({ extra: { assetTransferMethod: "permit2" } }),
      offer({ extra: { paymentFlow: "upfront" } }),
    ];
    const accepted = { ...ACCEPTED, ...(extra === undefined ? {} : { extra }) } as AcceptedRequirements;
    expect(matchOffer(offers, accepted)).toEqual({ kind: "matched", offer: offers[at] });
  });

  test.each<[extra: unknown, chosen: "after" | "before" | "extra"]>([
    [{ name: "USDC", paymentFlow: "upfront" }, "before"],
    [{ paymentFlow: "upfront" }, "before"],
    [{ name: "USDC" }, "after"],
    [{ name: "Another" }, "after"],
    [undefined, "after"],
    [null, "after"],
    ["upfront", "after"],
    [{ paymentFlow: "later" }, "extra"],
    [{ paymentFlow: ["upfront"] }, "extra"],
    [{ paymentFlow: null }, "extra"],
    [{ name: "USDC", paymentFlow: "UPFRONT" }, "extra"],
  ])("with extra %j of two times to settle, %s counts, in either order", (extra, chosen) => {
    const before = offer({ extra: { paymentFlow: "upfront" }, settle: "before" });
    const accepted = { ...ACCEPTED, ...(extra === undefined ? {} : { extra }) } as AcceptedRequirements;
    for (const offers of [
      [before, offer()],
      [offer(), before],
    ]) {
      const match = matchOffer(offers, accepted);
      expect(match.kind === "matched" ? match.offer.settle : match.field).toBe(chosen);
    }
  });

  test("refuses an extra that mixes two offers", () => {
    const offers = [offer({ extra: { assetTransferMethod: "permit2" } }), offer({ extra: { paymentFlow: "upfront" } })];
    const extra = { paymentFlow: "upfront", assetTransferMethod: "permit2" };
    expect(matchOffer(offers, { ...ACCEPTED, extra })).toEqual({ kind: "mismatched", field: "extra" });
  });

  test.each<[change: object, field: string, why: string]>([
    [{ scheme: "upto" }, "scheme", "another scheme"],
    [{ scheme: "Exact" }, "scheme", "schemes have a case"],
    [{ network: "eip155:8453" }, "network", "another network"],
    [{ network: "EIP155:84532" }, "network", "networks have a case"],
    [{ asset: PAY_TO }, "asset", "another asset"],
    [{ payTo: USDC }, "payTo", "to another payee"],
    [{ amount: "9999" }, "amount", "less"],
    [{ amount: "10001" }, "amount", "more"],
    [{ amount: "010000" }, "amount", "the same number in other digits"],
    [{ amount: "0x2710" }, "amount", "the same number in other digits"],
    [{ amount: undefined }, "amount", "none"],
    [{ amount: undefined, maxAmountRequired: "9999" }, "amount", "less, under the older name"],
    [{ amount: "9999", maxAmountRequired: "10000" }, "amount", "the newer name counts"],
    [{ scheme: "upto", amount: "1", payTo: USDC }, "scheme", "the first field that differs is named"],
  ])("refuses %j and names the %s: %s", (change, field) => {
    const accepted = { ...ACCEPTED, ...change } as AcceptedRequirements;
    expect(matchOffer([offer()], accepted)).toEqual({ kind: "mismatched", field });
  });

  test("names the field in which the nearest offer differs", () => {
    const offers = [offer({ network: "eip155:1" }), offer({ payTo: USDC }), offer({ amount: 5n })];
    expect(matchOffer(offers, { ...ACCEPTED, amount: "6" })).toEqual({ kind: "mismatched", field: "amount" });
    expect(matchOffer(offers.slice(0, 2), ACCEPTED)).toEqual({ kind: "mismatched", field: "payTo" });
    expect(matchOffer(offers.slice(0, 1), ACCEPTED)).toEqual({ kind: "mismatched", field: "network" });
  });

  test("takes the first of several that match, and any that does", () => {
    const [first, second, third] = [offer({ amount: 5n }), offer(), offer()];
    expect(matchOffer([first, second, third], ACCEPTED)).toEqual({ kind: "matched", offer: second });
    expect(matchOffer([third, second], ACCEPTED)).toMatchObject({ offer: third });
  });

  test("matches nothing where nothing is offered", () => {
    expect(matchOffer([], ACCEPTED).kind).toBe("mismatched");
  });

  test("finds an offer exactly where all five fields agree", () => {
    const choices = {
      scheme: fc.constantFrom("exact", "upto"),
      network: fc.constantFrom("eip155:1", "eip155:84532"),
      asset: fc.constantFrom(USDC, PAY_TO),
      payTo: fc.constantFrom(USDC, PAY_TO),
      amount: fc.constantFrom(5n, 10_000n),
    };
    fc.assert(
      fc.property(fc.array(fc.record(choices), { maxLength: 5 }), fc.record(choices), (offered, wanted) => {
        const match = matchOffer(offered.map(offer), { ...wanted, amount: String(wanted.amount) });
        const agreeing = offered.map((one) => MATCHED_FIELDS.findIndex((field) => one[field] !== wanted[field]));
        expect(match.kind === "matched").toBe(agreeing.includes(-1));
        if (match.kind === "mismatched") expect(match.field).toBe(MATCHED_FIELDS[Math.max(0, ...agreeing)]);
      }),
    );
  });
});
