import { ConfigError, type FacilitatorRequest } from "@farebox/core";
import { describe, expect, test } from "vitest";
import type { EvmChain } from "./chain.js";
import { createRpcChain } from "./rpc-chain.js";
import { createExactEvmScheme, createUptoEvmScheme } from "./schemes.js";

const SIGNER = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
const { permit2, ...rest } = createRpcChain({
  network: "eip155:84532",
  rpcUrl: "http://127.0.0.1:9",
  privateKey: `0x${"1".repeat(64)}`,
});

/** A chain without Permit2. */
const WITHOUT: EvmChain = { ...(rest as EvmChain), network: "eip155:84532", signers: [SIGNER] };
const WITH: EvmChain = { ...WITHOUT, ...(permit2 === undefined ? {} : { permit2 }) };

function issuesOf(create: () => unknown): readonly string[] {
  try {
    create();
  } catch (error) {
    if (error instanceof ConfigError) return error.issues.map(({ path, expected }) => `${path}: ${expected}`);
    throw error;
  }
  return [];
}

describe("options of a scheme", () => {
  test.each([createExactEvmScheme, createUptoEvmScheme])("%o names all wrong options at once", (create) => {
    const options = { chain: null, now: 5, more: 1 } as never;
    expect(issuesOf(() => create(options))).toEqual([
      expect.stringContaining("options.more"),
      expect.stringContaining("options.chain: a chain"),
      expect.stringContaining("options.now: a function"),
    ]);
    expect(issuesOf(() => create({ chain: WITH }))).toEqual([]);
  });

  test("createUptoEvmScheme demands a chain with Permit2 and a signer", () => {
    const expected = ["options.chain: a chain with permit2 and a signer"];
    expect(issuesOf(() => createUptoEvmScheme({ chain: WITHOUT }))).toEqual(expected);
    expect(issuesOf(() => createUptoEvmScheme({ chain: { ...WITH, signers: [] } }))).toEqual(expected);
    expect(createUptoEvmScheme({ chain: { ...WITH, signers: [`0x${SIGNER.slice(2).toLowerCase()}`] } })).toMatchObject({
      scheme: "upto",
      network: "eip155:84532",
      extra: { facilitatorAddress: SIGNER },
    });
  });
});

test("exact without Permit2 refuses only payments by Permit2", async () => {
  const terms = {
    scheme: "exact",
    network: "eip155:84532",
    amount: "7",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    payTo: SIGNER,
    maxTimeoutSeconds: 60,
    extra: { assetTransferMethod: "permit2" },
  };
  const request = {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: terms, payload: {} },
    paymentRequirements: terms,
  } as const satisfies FacilitatorRequest;
  const response = { isValid: false, invalidReason: "invalid_payment_requirements" };
  expect(await createExactEvmScheme({ chain: WITHOUT }).verify(request)).toMatchObject(response);
  const other = { isValid: false, invalidReason: "invalid_payload" };
  expect(await createExactEvmScheme({ chain: WITH }).verify(request)).toMatchObject(other);
});
