import { describe, expect, test } from "vitest";
import type { Finding } from "../events/findings.js";
import type { Support } from "../facilitator/supported-kinds.js";
import { createOffer } from "../scheme/offer.js";
import { createSale, inspectSupport } from "./on-sale.js";
import { createTestScheme, PAY_TO } from "./shop.fixture.js";

const NETWORKS = ["eip155:1", "eip155:2"];
const OFFERS = NETWORKS.map((network) =>
  createOffer(
    createTestScheme(),
    { asset: { id: "0xA", symbol: "USDC", decimals: 6, extra: {} }, amount: 10_000n, payTo: PAY_TO },
    { network, maxTimeoutSeconds: 300, extra: {} },
  ),
);
const ROUTE = { key: "GET /x", offers: OFFERS, description: "d", mimeType: "", extensions: undefined };
const OCCASION = { url: "http://a.example/x", method: "GET", error: "e" };

function createSeller(supports: Record<string, Support> = {}) {
  const asked: string[] = [];
  const facilitators = {
    revision: 0,
    supports(scheme: string, network: string) {
      asked.push(`${scheme} ${network}`);
      return supports[network] ?? "unknown";
    },
  };
  const told: Finding[] = [];
  return { supports, facilitators, asked, told, onSale: createSale(ROUTE, facilitators, (one) => told.push(one)) };
}

describe("what is on sale", () => {
  test.each<[first: Support, second: Support, sold: readonly string[]]>([
    ["unknown", "unknown", NETWORKS],
    ["yes", "unknown", NETWORKS],
    ["no", "unknown", ["eip155:2"]],
    ["yes", "no", ["eip155:1"]],
    ["no", "no", []],
  ])("of what is supported (%s, %s) is %j", (first, second, sold) => {
    const { onSale, told } = createSeller({ "eip155:1": first, "eip155:2": second });
    const sale = onSale();
    expect(sale?.offers.map(({ requirements }) => requirements.network) ?? []).toEqual(sold);
    expect(told).toHaveLength(NETWORKS.length - sold.length);
    if (sale === undefined) return;
    const { accepts, resource } = JSON.parse(sale.challenge(OCCASION).body);
    expect(accepts.map(({ network }: { network: string }) => network)).toEqual(sold);
    expect(resource.description).toBe("d");
  });

  test("is only looked at again when the facilitators say something else", () => {
    const { supports, facilitators, asked, onSale } = createSeller({ "eip155:1": "no" });
    const first = onSale();
    const looks = asked.length;
    supports["eip155:1"] = "yes";
    expect(onSale()).toBe(first);
    expect(asked).toHaveLength(looks);
    facilitators.revision++;
    expect(onSale()?.offers).toHaveLength(2);
  });
});

test("a finding names the offer that nobody supports", () => {
  const { facilitators } = createSeller({ "eip155:2": "no" });
  expect(inspectSupport(ROUTE, facilitators)).toEqual([
    {
      code: "FAREBOX_OFFER_UNSUPPORTED",
      route: "GET /x",
      message: "No facilitator supports 0.01 USDC by exact on eip155:2, so it is left out for now",
      remedy: expect.stringContaining("Add a facilitator"),
    },
  ]);
});
