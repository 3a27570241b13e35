import { describe, expect, test } from "vitest";
import type { Finding } from "../events/findings.js";
import type { Support } from "../facilitator/supported.js";
import { createTestScheme, PAY_TO } from "../gate/shop.fixture.js";
import type { Extensions } from "../protocol/documents.js";
import type { JsonObject } from "../protocol/json.js";
import { createOffer } from "../scheme/offer.js";
import { createAvailableOffers, inspectSupport } from "./available-offers.js";

const NETWORKS = ["eip155:1", "eip155:2"];
const OFFERS = NETWORKS.map((network) =>
  createOffer(
    createTestScheme(),
    { asset: { id: "0xA", symbol: "USDC", decimals: 6, extra: {} }, amount: 10_000n, payTo: PAY_TO },
    { network, maxTimeoutSeconds: 300, extra: {} },
  ),
);
const NOTHING_DECLARED = { service: {}, declareAt: () => undefined, outline: () => undefined };
const ROUTE = { key: "GET /x", offers: OFFERS, description: "d", mimeType: "", ...NOTHING_DECLARED };
const OCCASION = {
  url: "http://a.example/x",
  method: "GET",
  error: "e",
  locate: () => ({ routeTemplate: "/x", pathParams: {} }),
};

function createSeller(supports: Record<string, Support> = {}) {
  const asked: string[] = [];
  const facilitators = {
    revision: 0,
    supports(scheme: string, network: string) {
      asked.push(`${scheme} ${network}`);
      return supports[network] ?? "unknown";
    },
    kindExtra: (): JsonObject | undefined => undefined,
    spelling: (_: string, network: string) => network,
    extensions: (): readonly string[] => [],
  };
  const told: Finding[] = [];
  return {
    supports,
    facilitators,
    asked,
    told,
    ...createAvailableOffers(ROUTE, facilitators, (one) => told.push(one)),
  };
}

describe("what is on sale", () => {
  test.each<[first: Support, second: Support, sold: readonly string[]]>([
    ["unknown", "unknown", NETWORKS],
    ["yes", "unknown", NETWORKS],
    ["no", "unknown", ["eip155:2"]],
    ["yes", "no", ["eip155:1"]],
    ["no", "no", []],
  ])("of what is supported (%s, %s) is %j", (first, second, sold) => {
    const { available, told } = createSeller({ "eip155:1": first, "eip155:2": second });
    const sale = available();
    expect(sale?.offers.map(({ requirements }) => requirements.network) ?? []).toEqual(sold);
    expect(told).toHaveLength(NETWORKS.length - sold.length);
    if (sale === undefined) return;
    const { accepts, resource } = JSON.parse(sale.challenge(OCCASION).body);
    expect(accepts.map(({ network }: { network: string }) => network)).toEqual(sold);
    expect(resource.description).toBe("d");
  });

  test("is only looked at again when the facilitators say something else", () => {
    const { supports, facilitators, asked, available } = createSeller({ "eip155:1": "no" });
    const first = available();
    const looks = asked.length;
    supports["eip155:1"] = "yes";
    expect(available()).toBe(first);
    expect(asked).toHaveLength(looks);
    facilitators.revision++;
    expect(available()?.offers).toHaveLength(2);
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

describe("an offer that takes something of a facilitator's", () => {
  const SOLD = { asset: { id: "M", symbol: "USDC", decimals: 6, extra: {} }, amount: 10_000n, payTo: "S" };

  function createCompleted(own: JsonObject = {}) {
    const completeExtra = ({ feePayer }: JsonObject) => (typeof feePayer === "string" ? { feePayer } : undefined);
    const scheme = createTestScheme({ completeExtra, networks: "solana:*" });
    const offer = createOffer(scheme, SOLD, { network: "solana:d", maxTimeoutSeconds: 60, extra: own });
    const facilitators = {
      revision: 0,
      support: "yes" as Support,
      extra: undefined as JsonObject | undefined,
      supports: () => facilitators.support,
      kindExtra: () => facilitators.extra,
      spelling: (_: string, network: string) => network,
      extensions: () => [],
    };
    const told: Finding[] = [];
    const sale = createAvailableOffers({ ...ROUTE, offers: [offer] }, facilitators, (one) => told.push(one));
    const say = (support: Support, extra?: JsonObject) => {
      Object.assign(facilitators, { support, extra, revision: facilitators.revision + 1 });
    };
    const offered = () => sale.available()?.offers[0]?.requirements.extra;
    const meant = (clientsExtra: unknown) => sale.offerFor(offer, clientsExtra)?.requirements.extra;
    return { say, offered, meant, told, isPending: sale.isPending };
  }

  test("waits for as long as nobody has said anything", () => {
    const { say, isPending } = createCompleted();
    say("unknown");
    expect(isPending()).toBe(true);
    say("no");
    expect(isPending()).toBe(false);
    say("yes", {});
    expect(isPending()).toBe(false);
  });

  test("is made as soon as one has said so, and not before", () => {
    const { say, offered, meant, told } = createCompleted();
    say("unknown");
    expect([offered(), meant({ feePayer: "A" }), told]).toEqual([undefined, undefined, []]);
    say("yes", { feePayer: "A" });
    expect([offered(), meant({})]).toEqual([{ feePayer: "A" }, { feePayer: "A" }]);
  });

  test.each<[extra: JsonObject | undefined]>([[undefined], [{}], [{ feePayer: 5 }]])(
    "is not made where what they say (%j) will not do",
    (extra) => {
      const { say, offered, told } = createCompleted();
      say("yes", extra);
      expect(offered()).toBeUndefined();
      expect(told.map(({ code }) => code)).toEqual(["FAREBOX_OFFER_UNSUPPORTED"]);
    },
  );

  test("is meant as it was made to this client, though it is made otherwise by now", () => {
    const { say, offered, meant } = createCompleted();
    for (const feePayer of ["A", "B", "A", "C"]) {
      say("yes", { feePayer });
      offered();
    }
    expect(["A", "B", "C", "D", 5].map((feePayer) => meant({ feePayer, more: 1 })?.["feePayer"])).toEqual([
      "A",
      "B",
      "C",
      "C",
      "C",
    ]);
    expect([undefined, null, "A", []].map((extra) => meant(extra)?.["feePayer"])).toEqual(["C", "C", "C", "C"]);
  });

  test("remembers only so many of a facilitator that names another each time", () => {
    const { say, offered, meant } = createCompleted();
    for (let at = 0; at < 1_000; at++) {
      say("yes", { feePayer: `F${at}` });
      offered();
    }
    expect(meant({ feePayer: "F990" })?.["feePayer"]).toBe("F990");
    expect(meant({ feePayer: "F1" })?.["feePayer"]).toBe("F999");
  });

  test("has what the seller wrote, whatever a facilitator says", () => {
    const { say, offered } = createCompleted({ feePayer: "mine", memo: "m" });
    say("yes", { feePayer: "A" });
    expect(offered()).toEqual({ feePayer: "mine", memo: "m" });
  });

  test("is meant by the very object, each time it is asked for", () => {
    const { say, meant } = createCompleted();
    say("yes", { feePayer: "A" });
    expect(meant({})).toBe(meant({ feePayer: "A" }));
  });
});

describe("what a scheme has to help payers with", () => {
  const declared = { info: { version: "1" }, schema: { type: "object" } };
  const scheme = createTestScheme({ extensionsFor: () => ({ sponsoring: declared, other: declared }) });
  const offer = createOffer(
    scheme,
    { asset: { id: "0xA", symbol: "USDC", decimals: 6, extra: {} }, amount: 10_000n, payTo: PAY_TO },
    { network: "eip155:1", maxTimeoutSeconds: 300, extra: {} },
  );

  function sell(listed: readonly string[], extensions?: Extensions) {
    const facilitators = {
      revision: 0,
      supports: () => "yes" as const,
      kindExtra: () => undefined,
      spelling: (_: string, network: string) => network,
      extensions: () => listed,
    };
    const sale = createAvailableOffers(
      { ...ROUTE, offers: [offer], declareAt: () => extensions },
      facilitators,
      () => {},
    );
    return JSON.parse(sale.available()?.challenge(OCCASION).body ?? "{}").extensions;
  }

  test.each<[listed: readonly string[], extensions: readonly string[] | undefined]>([
    [[], undefined],
    [["bazaar"], undefined],
    [["sponsoring"], ["sponsoring"]],
    [
      ["other", "sponsoring"],
      ["sponsoring", "other"],
    ],
  ])("is declared as far as the facilitator lists it: %j", (listed, extensions) => {
    expect(sell(listed) && Object.keys(sell(listed))).toEqual(extensions);
  });

  test("is declared as the seller does it, whatever the facilitator lists", () => {
    const own = { info: { version: "2" }, schema: {} };
    expect(sell([], { sponsoring: own })).toEqual({ sponsoring: own });
    expect(sell(["sponsoring"], { sponsoring: own })).toEqual({ sponsoring: own });
  });
});
