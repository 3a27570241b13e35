import { describe, expect, test } from "vitest";
import type { PaymentRequirements, SupportedResponse } from "../protocol/documents.js";
import { facilitatorAddresses, findKind, mergeSupported, ownsAnyAddress, spelledAs } from "./supported.js";

const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";

function response(more: Partial<SupportedResponse>): SupportedResponse {
  return { kinds: [], extensions: [], signers: {}, ...more };
}

function offer(network: string, extra: Record<string, unknown>): PaymentRequirements {
  return { scheme: "exact", network, amount: "1", asset: "a", payTo: "p", maxTimeoutSeconds: 60, extra };
}

describe("findKind", () => {
  const exact = { x402Version: 2, scheme: "exact", network: "eip155:1" };

  test.each<[kind: object, found: boolean, why: string]>([
    [{}, true, "the same"],
    [{ network: "eip155:*" }, true, "a pattern, which some facilitators list"],
    [{ network: "eip155:10" }, false, "another network"],
    [{ network: "solana:*" }, false, "another namespace"],
    [{ scheme: "upto" }, false, "another scheme"],
    [{ x402Version: 1 }, false, "another version"],
  ])("finds a kind with %j: %s, %s", (differs, found) => {
    const kind = { ...exact, ...differs };
    expect(findKind(response({ kinds: [kind] }), "exact", "eip155:1")).toEqual(found ? kind : undefined);
  });

  test("prefers a kind with the exact network over one with a pattern", () => {
    const kinds = [{ ...exact, network: "eip155:*" }, exact];
    expect(findKind(response({ kinds }), "exact", "eip155:1")).toBe(exact);
  });
});

describe("a network with two spellings", () => {
  const SHORT = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe";
  const WHOLE = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=";
  const kind = (network: string) => ({ x402Version: 2, scheme: "exact", network });

  test.each<[listed: string[], asked: string, spelled: string]>([
    [[WHOLE], SHORT, WHOLE],
    [[SHORT], WHOLE, SHORT],
    [[WHOLE, SHORT], SHORT, SHORT],
    [["algorand:*", WHOLE], SHORT, WHOLE],
    [["algorand:*"], SHORT, SHORT],
    [["algorand:*"], WHOLE, WHOLE],
  ])("a network listed as %j and asked for as %s is spelled %s", (listed, asked, spelled) => {
    const found = findKind(response({ kinds: listed.map(kind) }), "exact", asked);
    expect(found).toBeDefined();
    expect(spelledAs(found, asked)).toBe(spelled);
  });

  test("a network is spelled as given when no kind is listed", () => {
    expect(spelledAs(undefined, WHOLE)).toBe(WHOLE);
  });
});

describe("an offer that names a facilitator's address", () => {
  test.each<[extra: Record<string, unknown>, addresses: string[]]>([
    [{ name: "USDC", version: "2" }, []],
    [{ feePayer: "F" }, ["F"]],
    [{ facilitatorAddress: "0xAb" }, ["0xAb"]],
    [{ feePayer: 5 }, []],
  ])("%j names %j", (extra, addresses) => {
    expect(facilitatorAddresses(offer(SOLANA, extra))).toEqual(addresses);
  });

  test.each<[more: Partial<SupportedResponse>, owns: boolean, why: string]>([
    [{ signers: { "solana:*": ["E", "F"] } }, true, "one of its signers"],
    [{ signers: { [SOLANA]: ["F"] } }, true, "its signer on this network"],
    [{ signers: { "eip155:*": ["F"] } }, false, "its signer, on another network"],
    [{ signers: { "solana:*": ["f"] } }, false, "another address, because Solana addresses are case-sensitive"],
    [{ kinds: [{ x402Version: 2, scheme: "exact", network: SOLANA, extra: { feePayer: "F" } }] }, true, "its kind's"],
    [
      { kinds: [{ x402Version: 2, scheme: "upto", network: SOLANA, extra: { feePayer: "F" } }] },
      false,
      "another kind's",
    ],
    [{}, false, "no address in its response"],
  ])("an address belongs to the facilitator with %j: %s, %s", (more, owns) => {
    expect(ownsAnyAddress(response(more), ["F"], offer(SOLANA, {}))).toBe(owns);
  });

  test("0x addresses that differ only in their checksum match", () => {
    const signers = { "eip155:*": ["0xab"] };
    expect(ownsAnyAddress(response({ signers }), ["0xAB"], offer("eip155:1", {}))).toBe(true);
  });
});

test("mergeSupported joins the lists, and keeps the first of two kinds for the same offers", () => {
  const kind = { x402Version: 2, scheme: "exact", network: SOLANA, extra: { feePayer: "F" } };
  const merged = mergeSupported([
    { kinds: [kind], extensions: ["bazaar"], signers: { "solana:*": ["F"] } },
    {
      kinds: [
        { ...kind, extra: { feePayer: "G" } },
        { ...kind, scheme: "upto" },
      ],
      extensions: ["bazaar", "other"],
      signers: { "solana:*": ["G", "F"], "eip155:*": ["0x1"] },
    },
  ]);
  expect(merged).toEqual({
    kinds: [kind, { ...kind, scheme: "upto" }],
    extensions: ["bazaar", "other"],
    signers: { "solana:*": ["F", "G"], "eip155:*": ["0x1"] },
  });
});
