import {
  ConfigError,
  type FacilitatorRequest,
  type FacilitatorScheme,
  type LogFields,
  type Logger,
} from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFacilitator } from "./create-facilitator.js";
import type { FacilitatorOptions } from "./options.js";

/** A scheme that accepts every payment. */
function scheme(changes: Partial<FacilitatorScheme> = {}): FacilitatorScheme {
  const network = changes.network ?? "eip155:84532";
  return {
    scheme: "exact",
    network,
    extra: {},
    signers: ["0xaa"],
    verify: async () => ({ isValid: true, payer: "0xbb" }),
    settle: async () => ({ success: true, payer: "0xbb", transaction: "0xcc", network }),
    health: async () => ({ ok: true }),
    ...changes,
  };
}

function requestFor(name: unknown, network: unknown): FacilitatorRequest {
  const terms = { scheme: name, network, amount: "5", asset: "0x1", payTo: "0x2", maxTimeoutSeconds: 1, extra: {} };
  const request = { x402Version: 2, paymentPayload: { x402Version: 2 }, paymentRequirements: terms };
  return request as unknown as FacilitatorRequest;
}

describe("a facilitator", () => {
  test("the facilitator asks the scheme with the name and network of the payment", async () => {
    const facilitator = createFacilitator({
      schemes: [scheme(), scheme({ network: "eip155:8453" }), scheme({ scheme: "upto" })],
    });
    expect(await facilitator.settle(requestFor("exact", "eip155:8453"))).toMatchObject({ network: "eip155:8453" });
    expect(await facilitator.verify(requestFor("upto", "eip155:84532"))).toEqual({ isValid: true, payer: "0xbb" });
  });

  const UNKNOWN: readonly {
    readonly why: string;
    readonly request: unknown;
    readonly reason: string;
    readonly network: string;
  }[] = [
    {
      why: "another scheme",
      request: requestFor("upto", "eip155:84532"),
      reason: "unsupported_scheme",
      network: "eip155:84532",
    },
    {
      why: "another network",
      request: requestFor("exact", "eip155:1"),
      reason: "invalid_network",
      network: "eip155:1",
    },
    { why: "a malformed network", request: requestFor("exact", "<script>"), reason: "invalid_network", network: "" },
    {
      why: "a network that is a list",
      request: requestFor("exact", ["eip155:84532"]),
      reason: "invalid_network",
      network: "",
    },
    {
      why: "a scheme that is not a string",
      request: requestFor({}, "eip155:84532"),
      reason: "unsupported_scheme",
      network: "eip155:84532",
    },
    {
      why: "a name that every JavaScript object has",
      request: requestFor("constructor", "__proto__"),
      reason: "unsupported_scheme",
      network: "",
    },
    { why: "no requirements", request: { x402Version: 2 }, reason: "invalid_payment_requirements", network: "" },
    { why: "no fields at all", request: undefined, reason: "invalid_payment_requirements", network: "" },
  ];

  test.each(UNKNOWN)("the facilitator refuses a request with $why", async ({ request, reason, network }) => {
    const facilitator = createFacilitator({ schemes: [scheme()] });
    expect(await facilitator.verify(request as FacilitatorRequest)).toEqual({ isValid: false, invalidReason: reason });
    expect(await facilitator.settle(request as FacilitatorRequest)).toEqual({
      success: false,
      errorReason: reason,
      transaction: "",
      network,
    });
  });

  const BROKEN: readonly { readonly why: string; readonly respond: () => unknown }[] = [
    {
      why: "throws",
      respond: () => {
        throw new TypeError("secret");
      },
    },
    { why: "rejects", respond: () => Promise.reject(new TypeError("secret")) },
    { why: "rejects with undefined", respond: () => Promise.reject(undefined) },
    { why: "resolves with undefined", respond: async () => undefined },
    { why: "resolves with another shape", respond: async () => ({ success: "yes", isValid: 1 }) },
    { why: "returns a string instead of a promise", respond: () => "yes" },
  ];

  test.each(BROKEN)("the facilitator responds in the protocol when a scheme $why", async ({ respond }) => {
    const broken = scheme({
      verify: respond,
      settle: respond,
      health: respond,
    } as unknown as Partial<FacilitatorScheme>);
    const facilitator = createFacilitator({ schemes: [broken] });
    const request = requestFor("exact", "eip155:84532");
    const responses = [
      await facilitator.verify(request),
      await facilitator.settle(request),
      await facilitator.health(),
    ];
    expect(responses).toMatchObject([
      { isValid: false, invalidReason: "unexpected_verify_error" },
      { success: false, errorReason: "unexpected_settle_error", transaction: "", network: "eip155:84532" },
      { ok: false, schemes: [{ scheme: "exact", network: "eip155:84532" }] },
    ]);
    expect(JSON.stringify(responses)).not.toContain("secret");
  });

  test("the facilitator responds to any value that is passed as a request", async () => {
    const facilitator = createFacilitator({ schemes: [scheme()], logger: recorder().logger });
    await fc.assert(
      fc.asyncProperty(fc.anything(), async (request) => {
        expect((await facilitator.verify(request as FacilitatorRequest)).isValid).toEqual(expect.any(Boolean));
        expect((await facilitator.settle(request as FacilitatorRequest)).success).toEqual(expect.any(Boolean));
      }),
    );
  });

  test("/supported names each scheme with its concrete network, and each signer once", async () => {
    const facilitator = createFacilitator({
      schemes: [
        scheme(),
        scheme({ network: "eip155:8453", signers: ["0xaa", "0xdd"] }),
        scheme({ network: "solana:devnet", signers: ["So1"], extra: { feePayer: "So1" } }),
      ],
      extensions: ["bazaar"],
    });
    expect(await facilitator.supported()).toEqual({
      kinds: [
        { x402Version: 2, scheme: "exact", network: "eip155:84532" },
        { x402Version: 2, scheme: "exact", network: "eip155:8453" },
        { x402Version: 2, scheme: "exact", network: "solana:devnet", extra: { feePayer: "So1" } },
      ],
      extensions: ["bazaar"],
      signers: { "eip155:*": ["0xaa", "0xdd"], "solana:*": ["So1"] },
    });
  });
});

/** A logger that keeps its lines. */
function recorder(): { readonly logger: Logger; readonly lines: (readonly [string, string, LogFields])[] } {
  const lines: (readonly [string, string, LogFields])[] = [];
  const at = (level: string) => (event: string, fields: LogFields) => void lines.push([level, event, fields]);
  return { lines, logger: { info: at("info"), warn: at("warn"), error: at("error") } };
}

describe("the log", () => {
  test("the log has one line per call, with the request and its outcome", async () => {
    const { logger, lines } = recorder();
    const refused = {
      isValid: false,
      invalidReason: "insufficient_funds",
      invalidMessage: "too little",
      payer: "0xbb",
    };
    const failed = { success: false, errorReason: "unexpected_settle_error", transaction: "", network: "eip155:84532" };
    const facilitator = createFacilitator({
      schemes: [scheme({ verify: async () => refused }), scheme({ scheme: "upto", settle: async () => failed })],
      logger,
    });
    await facilitator.verify(requestFor("exact", "eip155:84532"));
    await facilitator.settle(requestFor("exact", "eip155:84532"));
    await facilitator.settle(requestFor("upto", "eip155:84532"));
    const subject = { network: "eip155:84532", amount: "5", payTo: "0x2" };
    expect(lines).toEqual([
      [
        "info",
        "verify",
        {
          scheme: "exact",
          ...subject,
          isValid: false,
          payer: "0xbb",
          reason: "insufficient_funds",
          message: "too little",
        },
      ],
      ["info", "settle", { scheme: "exact", ...subject, success: true, transaction: "0xcc", payer: "0xbb" }],
      ["error", "settle", { scheme: "upto", ...subject, success: false, reason: "unexpected_settle_error" }],
    ]);
  });

  test("the log holds no secret and no line break from a client or a scheme", async () => {
    const { logger, lines } = recorder();
    const signature = `0x${"ab".repeat(65)}`;
    const foul = `x\nroot logged in\u001b[2J\u202e https://user:pass@node/key ${signature}`;
    const texts = { payer: foul, invalidReason: foul, invalidMessage: foul, errorReason: foul, errorMessage: foul };
    const facilitator = createFacilitator({
      schemes: [
        scheme({
          verify: async () => ({ isValid: false, ...texts }),
          settle: async () => ({ success: false, transaction: foul, network: foul, ...texts }),
        }),
      ],
      logger,
    });
    const { paymentRequirements, ...request } = requestFor("exact", "eip155:84532");
    const asked = { ...request, paymentRequirements: { ...paymentRequirements, amount: foul, payTo: signature } };
    await facilitator.verify(asked);
    await facilitator.settle(asked);
    await facilitator.settle(requestFor(foul, foul));
    expect(lines).toHaveLength(3);
    for (const [, , fields] of lines) {
      for (const value of Object.values(fields)) {
        expect(String(value)).toMatch(/^[\x20-\x7e]{0,200}$/);
        expect(String(value)).not.toMatch(/pass|abababab/);
      }
    }
  });

  test("a logger that throws does not change the response", async () => {
    const fail = () => {
      throw new RangeError("the log is full");
    };
    const facilitator = createFacilitator({ schemes: [scheme()], logger: { info: fail, warn: fail, error: fail } });
    expect(await facilitator.settle(requestFor("exact", "eip155:84532"))).toMatchObject({ success: true });
  });
});

describe("options", () => {
  const WRONG: readonly { readonly why: string; readonly options: unknown; readonly paths: readonly string[] }[] = [
    { why: "no schemes", options: {}, paths: ["options.schemes"] },
    { why: "an empty list", options: { schemes: [] }, paths: ["options.schemes"] },
    { why: "a scheme that is not in a list", options: { schemes: scheme() }, paths: ["options.schemes"] },
    { why: "two schemes for one network", options: { schemes: [scheme(), scheme()] }, paths: ["options.schemes[1]"] },
    {
      why: "a pattern for a network",
      options: { schemes: [scheme({ network: "eip155:*" })] },
      paths: ["options.schemes[0]"],
    },
    {
      why: "everything wrong",
      options: {
        schemes: [null, { scheme: "exact" }],
        extensions: [1],
        logger: { info: 1 },
        log: 1,
        ["k".repeat(66)]: 1,
      },
      paths: [
        "options.log",
        `options["…"]`,
        "options.schemes[0]",
        "options.schemes[1]",
        "options.extensions",
        "options.logger",
      ],
    },
    { why: "a policy that is not an object", options: { schemes: [scheme()], policy: 1 }, paths: ["options.policy"] },
    {
      why: "a policy of the wrong forms",
      options: {
        schemes: [scheme()],
        policy: {
          payees: { "eip155:8453": ["0x1"], "eip155:84532": [] },
          assets: { "eip155:84532": { "0x1": "1.5", "0x2": -1n } },
          credentials: [
            { name: "a", tokens: ["too short"], payee: {} },
            { name: "a", tokens: ["0123456789abcdef"], requestsPerMinute: 0 },
            { name: "b", tokens: ["0123456789abcdef"], assets: {} },
            null,
          ],
          gasPerHour: { "eip155:84532": 5 },
          requestsPerMinute: "many",
          open: true,
        },
      },
      paths: [
        "options.policy.open",
        'options.policy.payees["eip155:8453"]',
        'options.policy.payees["eip155:84532"]',
        'options.policy.assets["eip155:84532"]["0x1"]',
        'options.policy.assets["eip155:84532"]["0x2"]',
        "options.policy.credentials[0].payee",
        "options.policy.credentials[0].tokens",
        "options.policy.credentials[1].name",
        "options.policy.credentials[1].requestsPerMinute",
        "options.policy.credentials[2].tokens",
        "options.policy.credentials[2].assets",
        "options.policy.credentials[3]",
        "options.policy.credentials[3].name",
        "options.policy.credentials[3].tokens",
        "options.policy.requestsPerMinute",
        'options.policy.gasPerHour["eip155:84532"]',
        'options.policy.gasPerHour["eip155:84532"]',
      ],
    },
  ];

  test("an issue quotes no token", () => {
    const credentials = [{ name: "a", tokens: ["a secret with spaces"] }, "0123456789abcdef"];
    const options = { schemes: [scheme()], policy: { credentials } } as unknown as FacilitatorOptions;
    expect(() => createFacilitator(options)).toThrow(/^(?!.*(?:secret|0123))/s);
  });

  test.each(WRONG)("options with $why are refused, all issues at once", ({ options, paths }) => {
    expect(() => createFacilitator(options as FacilitatorOptions)).toThrow(ConfigError);
    try {
      createFacilitator(options as FacilitatorOptions);
    } catch (error) {
      expect((error as ConfigError).issues.map(({ path }) => path)).toEqual(paths);
    }
  });
});
