import { describe, expect, test } from "vitest";
import type { Finding } from "../events/findings.js";
import type { Support } from "../facilitator/supported.js";
import type { Extensions } from "../protocol/documents.js";
import type { JsonObject } from "../protocol/json.js";
import { createTestScheme, PAY_TO } from "../sale/shop.fixture.js";
import { createOffer } from "../scheme/offer.js";
import { createAvailableOffers, inspectSupport } from "./available-offers.js";

const NETWORKS = ["eip155:1", "eip155:2"];
const OFFERS = NETWORKS.map((network) =>
  createOffer(
    createTestScheme(),
    { asset: { id: "0xA", symbol: "USDC", decimals: 6, extra: {} }, amount: 10_000n, payTo: PAY_TO, isInDollars: true },
    { network, maxTimeoutSeconds: 300, extra: {} },
  ),
);
const NOTHING_DECLARED = {
  service: {},
  declareAt: () => undefined,
  forCatalogs: new Map(),
  headerBudget: 4096,
  outline: () => undefined,
};
const ROUTE = { key: "GET /x", offers: OFFERS, description: "d", mimeType: "", ...NOTHING_DECLARED };
const OCCASION = {
  url: "http://a.example/x",
  method: "GET",
  error: "e",
  locate: () => ({ routeTemplate: "/x", pathParams: {} }),
};

function createSeller(supports: Record<string, Support> = {}) {
  const queries: string[] = [];
  const facilitators = {
    revision: 0,
    supports(scheme: string, network: string) {
      queries.push(`${scheme} ${network}`);
      return supports[network] ?? "unknown";
    },
    kindExtra: (): JsonObject | undefined => undefined,
    spelling: (_: string, network: string) => network,
    extensions: (): readonly string[] => [],
  };
  const reported: Finding[] = [];
  return {
    supports,
    facilitators,
    queries,
    reported,
    ...createAvailableOffers(ROUTE, facilitators, (one) => reported.push(one)),
  };
}

describe("the available offers", () => {
  test.each<[first: Support, second: Support, networks: readonly string[]]>([
    ["unknown", "unknown", NETWORKS],
    ["yes", "unknown", NETWORKS],
    ["no", "unknown", ["eip155:2"]],
    ["yes", "no", ["eip155:1"]],
    ["no", "no", []],
  ])("the available offers are those with support: (%s, %s) leaves %j", (first, second, networks) => {
    const { available, reported } = createSeller({ "eip155:1": first, "eip155:2": second });
    const current = available();
    expect(current?.offers.map(({ requirements }) => requirements.network) ?? []).toEqual(networks);
    expect(reported).toHaveLength(NETWORKS.length - networks.length);
    if (current === undefined) return;
    const { accepts, resource } = JSON.parse(current.challenge(OCCASION).body);
    expect(accepts.map(({ network }: { network: string }) => network)).toEqual(networks);
    expect(resource.description).toBe("d");
  });

  test("the available offers are only compiled again when the facilitators' support changes", () => {
    const { supports, facilitators, queries, available } = createSeller({ "eip155:1": "no" });
    const first = available();
    const count = queries.length;
    supports["eip155:1"] = "yes";
    expect(available()).toBe(first);
    expect(queries).toHaveLength(count);
    facilitators.revision++;
    expect(available()?.offers).toHaveLength(2);
  });
});

test("a finding names the offer that no facilitator supports", () => {
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

describe("an offer that needs data of a facilitator", () => {
  const TERMS = {
    asset: { id: "M", symbol: "USDC", decimals: 6, extra: {} },
    amount: 10_000n,
    payTo: "S",
    isInDollars: true,
  };

  function createCompleted(own: JsonObject = {}) {
    const completeExtra = ({ feePayer }: JsonObject) => (typeof feePayer === "string" ? { feePayer } : undefined);
    const scheme = createTestScheme({ completeExtra, networks: "solana:*" });
    const offer = createOffer(scheme, TERMS, { network: "solana:d", maxTimeoutSeconds: 60, extra: own });
    const facilitators = {
      revision: 0,
      support: "yes" as Support,
      extra: undefined as JsonObject | undefined,
      supports: () => facilitators.support,
      kindExtra: () => facilitators.extra,
      spelling: (_: string, network: string) => network,
      extensions: () => [],
    };
    const reported: Finding[] = [];
    const current = createAvailableOffers({ ...ROUTE, offers: [offer] }, facilitators, (one) => reported.push(one));
    const setSupport = (support: Support, extra?: JsonObject) => {
      Object.assign(facilitators, { support, extra, revision: facilitators.revision + 1 });
    };
    const offered = () => current.available()?.offers[0]?.requirements.extra;
    const matched = (clientsExtra: unknown) => current.offerFor(offer, clientsExtra)?.requirements.extra;
    return { setSupport, offered, matched, reported, isPending: current.isPending };
  }

  test("an offer with facilitator data is pending until a facilitator has responded", () => {
    const { setSupport, isPending } = createCompleted();
    setSupport("unknown");
    expect(isPending?.()).toBe(true);
    setSupport("no");
    expect(isPending?.()).toBe(false);
    setSupport("yes", {});
    expect(isPending?.()).toBe(false);
  });

  test("an offer with facilitator data is available as soon as a facilitator sends the data", () => {
    const { setSupport, offered, matched, reported } = createCompleted();
    setSupport("unknown");
    expect([offered(), matched({ feePayer: "A" }), reported]).toEqual([undefined, undefined, []]);
    setSupport("yes", { feePayer: "A" });
    expect([offered(), matched({})]).toEqual([{ feePayer: "A" }, { feePayer: "A" }]);
  });

  test.each<[extra: JsonObject | undefined]>([[undefined], [{}], [{ feePayer: 5 }]])(
    "an offer with facilitator data is left out when the facilitator sends %j",
    (extra) => {
      const { setSupport, offered, reported } = createCompleted();
      setSupport("yes", extra);
      expect(offered()).toBeUndefined();
      expect(reported.map(({ code }) => code)).toEqual(["FAREBOX_OFFER_UNSUPPORTED"]);
    },
  );

  test("an offer with facilitator data matches a payment with the data that its client was sent, even after it changed", () => {
    const { setSupport, offered, matched } = createCompleted();
    for (const feePayer of ["A", "B", "A", "C"]) {
      setSupport("yes", { feePayer });
      offered();
    }
    expect(["A", "B", "C", "D", 5].map((feePayer) => matched({ feePayer, more: 1 })?.["feePayer"])).toEqual([
      "A",
      "B",
      "C",
      "C",
      "C",
    ]);
    expect([undefined, null, "A", []].map((extra) => matched(extra)?.["feePayer"])).toEqual(["C", "C", "C", "C"]);
  });

  test("an offer with facilitator data keeps a limited number of versions of the data", () => {
    const { setSupport, offered, matched } = createCompleted();
    for (let at = 0; at < 1_000; at++) {
      setSupport("yes", { feePayer: `F${at}` });
      offered();
    }
    expect(matched({ feePayer: "F990" })?.["feePayer"]).toBe("F990");
    expect(matched({ feePayer: "F1" })?.["feePayer"]).toBe("F999");
  });

  test("an offer with facilitator data keeps the seller's own values over the facilitator's", () => {
    const { setSupport, offered } = createCompleted({ feePayer: "mine", memo: "m" });
    setSupport("yes", { feePayer: "A" });
    expect(offered()).toEqual({ feePayer: "mine", memo: "m" });
  });

  test("an offer with facilitator data is the same object for the same data", () => {
    const { setSupport, matched } = createCompleted();
    setSupport("yes", { feePayer: "A" });
    expect(matched({})).toBe(matched({ feePayer: "A" }));
  });
});

describe("an extension of a scheme", () => {
  const declared = { info: { version: "1" }, schema: { type: "object" } };
  const scheme = createTestScheme({ extensionsFor: () => ({ sponsoring: declared, other: declared }) });
  const offer = createOffer(
    scheme,
    { asset: { id: "0xA", symbol: "USDC", decimals: 6, extra: {} }, amount: 10_000n, payTo: PAY_TO, isInDollars: true },
    { network: "eip155:1", maxTimeoutSeconds: 300, extra: {} },
  );

  function challengeExtensions(listed: readonly string[], extensions?: Extensions) {
    const facilitators = {
      revision: 0,
      supports: () => "yes" as const,
      kindExtra: () => undefined,
      spelling: (_: string, network: string) => network,
      extensions: () => listed,
    };
    const current = createAvailableOffers(
      { ...ROUTE, offers: [offer], declareAt: () => extensions },
      facilitators,
      () => {},
    );
    return JSON.parse(current.available()?.challenge(OCCASION).body ?? "{}").extensions;
  }

  test.each<[listed: readonly string[], extensions: readonly string[] | undefined]>([
    [[], undefined],
    [["bazaar"], undefined],
    [["sponsoring"], ["sponsoring"]],
    [
      ["other", "sponsoring"],
      ["sponsoring", "other"],
    ],
  ])("a scheme's extension is declared when the facilitator lists it: %j", (listed, extensions) => {
    expect(challengeExtensions(listed) && Object.keys(challengeExtensions(listed))).toEqual(extensions);
  });

  test("a scheme's extension is declared as the seller wrote it, for any list of the facilitator", () => {
    const own = { info: { version: "2" }, schema: {} };
    expect(challengeExtensions([], { sponsoring: own })).toEqual({ sponsoring: own });
    expect(challengeExtensions(["sponsoring"], { sponsoring: own })).toEqual({ sponsoring: own });
  });
});
