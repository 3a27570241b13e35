/**
 * Our declarations and readers beside those of `@x402/extensions`: the same for the same input.
 *
 * @module
 */
import * as ours from "@farebox/compat/extensions";
import * as theirs from "@x402/extensions";
import { describe, expect, test } from "vitest";

const CITY = { properties: { city: { type: "string" } }, required: ["city"] };
const TOOL = { toolName: "get_weather", inputSchema: { type: "object", ...CITY } };

describe("declareDiscoveryExtension", () => {
  const FORMS: readonly object[] = [
    {},
    { input: { city: "Paris" }, inputSchema: CITY },
    { method: "GET", pathParams: { id: "7" }, pathParamsSchema: { properties: { id: { type: "string" } } } },
    { output: { example: { celsius: 20 }, schema: { properties: { celsius: { type: "number" } } } } },
    { output: { example: null } },
    { bodyType: "json", input: { city: "Paris" }, inputSchema: CITY },
    { bodyType: "text", input: "Paris", output: { example: { n: 1 } } },
    { bodyType: undefined, input: { city: "Paris" } },
    TOOL,
    {
      ...TOOL,
      description: "The weather",
      transport: "sse",
      example: { city: "Paris" },
      output: { example: { n: 1 } },
    },
    { ...TOOL, transport: "stdio" },
  ];

  test.each(FORMS.map((form) => [JSON.stringify(form), form]))("declares %s as the reference does", (_title, form) => {
    const declared = ours.declareDiscoveryExtension(form as never);
    expect(declared).toEqual(theirs.declareDiscoveryExtension(form as never));
    const spelled = { ...declared.bazaar.info.input, method: "toolName" in form ? undefined : "GET" };
    const isBody = "bodyType" in declared.bazaar.info.input;
    if (!("toolName" in form) && !isBody) {
      const whole = { ...declared.bazaar, info: { ...declared.bazaar.info, input: spelled } };
      expect(theirs.validateDiscoveryExtension(whole as never)).toEqual({ valid: true });
    }
  });
});

describe("gas sponsoring", () => {
  test("the declarations have the fields of the reference's", () => {
    const own = [ours.declareEip2612GasSponsoringExtension(), ours.declareErc20ApprovalGasSponsoringExtension()];
    const others = [theirs.declareEip2612GasSponsoringExtension(), theirs.declareErc20ApprovalGasSponsoringExtension()];
    for (const [at, declared] of own.entries()) {
      const [[key, declaration] = ["", undefined]] = Object.entries(declared);
      const [[otherKey, other] = ["", undefined]] = Object.entries(others[at]!);
      expect(key).toBe(otherKey);
      expect(declaration?.info["version"]).toBe(other?.info.version);
      expect(declaration?.schema["required"]).toEqual(other?.schema["required"]);
    }
  });
});

describe("builder codes", () => {
  test.each([
    ["my_app", undefined],
    ["my_app", "one"],
    ["my_app", ["one", "two"]],
    ["my_app", []],
  ] as const)("declares %s with %j as the reference does", (app, services) => {
    expect(ours.declareBuilderCodeExtension(app, services)).toEqual(
      theirs.declareBuilderCodeExtension(app, services as never),
    );
  });

  test.each([
    ["My-App", []],
    ["", []],
    ["a".repeat(33), []],
    ["my_app", ["one", "two", "three", "four", "five", "six"]],
    ["my_app", ["NO"]],
  ])("refuses %s with %j, as the reference does", (app, services) => {
    expect(() => theirs.declareBuilderCodeExtension(app, services)).toThrow(/builder code|service codes/i);
    expect(() => ours.declareBuilderCodeExtension(app, services)).toThrow(/appCode|serviceCodes/);
  });
});

describe("payment identifiers", () => {
  const ID = "pay_0123456789abcdef";
  const withExtension = (extension: unknown) => ({ extensions: { "payment-identifier": extension } });
  const PAYMENTS: readonly object[] = [
    {},
    { extensions: {} },
    withExtension(null),
    withExtension("text"),
    withExtension({}),
    withExtension({ info: null }),
    withExtension({ info: { required: "yes" } }),
    withExtension({ info: { required: true } }),
    withExtension({ info: { required: true, id: 7 } }),
    withExtension({ info: { required: true, id: "short" } }),
    withExtension({ info: { required: true, id: "x".repeat(129) } }),
    withExtension({ info: { required: false, id: `${ID}!` } }),
    withExtension({ info: { required: false, id: ID } }),
    withExtension({ info: { id: ID } }),
  ];

  test.each(PAYMENTS.map((payment) => [JSON.stringify(payment), payment]))(
    "reads %s as the reference does",
    (_title, payment) => {
      const read = (from: typeof ours | typeof theirs) => [
        from.extractPaymentIdentifier(payment as never),
        from.extractPaymentIdentifier(payment as never, false),
        from.extractAndValidatePaymentIdentifier(payment as never),
        from.hasPaymentIdentifier(payment as never),
        from.validatePaymentIdentifierRequirement(payment as never, true),
        from.validatePaymentIdentifierRequirement(payment as never, false),
      ];
      expect(read(ours)).toEqual(read(theirs));
    },
  );

  test("a client's schema is not compiled, so it costs no time", () => {
    const schema = { type: "object", properties: { id: { pattern: "^(a+)+$" } } };
    const payment = withExtension({ info: { required: true, id: `${"a".repeat(60)}_` }, schema });
    expect(ours.extractAndValidatePaymentIdentifier(payment)).toEqual({
      id: `${"a".repeat(60)}_`,
      validation: { valid: true },
    });
  });

  test("generates ids that the reference accepts, and appends them to what it declares", () => {
    expect(theirs.isValidPaymentId(ours.generatePaymentId())).toBe(true);
    expect(ours.isValidPaymentId(theirs.generatePaymentId("order-"))).toBe(true);
    const extensions = { [ours.PAYMENT_IDENTIFIER]: theirs.declarePaymentIdentifierExtension(true) };
    ours.appendPaymentIdentifierToExtensions(extensions, ID);
    expect(theirs.extractPaymentIdentifier({ extensions } as never)).toBe(ID);
    expect(() => ours.appendPaymentIdentifierToExtensions(extensions, "short")).toThrow("16 to 128");
    expect(ours.appendPaymentIdentifierToExtensions({})).toEqual({});
    expect(ours.declarePaymentIdentifierExtension(true)).toEqual(theirs.declarePaymentIdentifierExtension(true));
  });
});
