/** Permit2 and the x402 proxies on a local chain, compared with the reference implementation. */
import { createPayer, type LocalChain, pay, startLocalChain } from "@farebox/testing";
import {
  PERMIT2_ADDRESS,
  permit2WitnessTypes,
  uptoPermit2WitnessTypes,
  x402ExactPermit2ProxyABI,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyABI,
  x402UptoPermit2ProxyAddress,
} from "@x402/evm";
import express from "express";
import {
  createPublicClient,
  erc20Abi,
  http,
  keccak256,
  maxUint256,
  type PublicClient,
  recoverTypedDataAddress,
  toBytes,
} from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

let chain: LocalChain;
let client: PublicClient;

beforeAll(async () => {
  chain = await startLocalChain();
  client = createPublicClient({ transport: http(chain.rpcUrl) });
});

afterAll(() => chain.close());

const PROXIES = [
  {
    name: "exact",
    address: x402ExactPermit2ProxyAddress,
    abi: x402ExactPermit2ProxyABI,
    types: permit2WitnessTypes,
  },
  {
    name: "upto",
    address: x402UptoPermit2ProxyAddress,
    abi: x402UptoPermit2ProxyABI,
    types: uptoPermit2WitnessTypes,
  },
] as const;

/** The EIP-712 encoding of a type, without the types of its members. */
function encodeType(
  name: "TokenPermissions" | "Witness",
  types: typeof permit2WitnessTypes | typeof uptoPermit2WitnessTypes,
): string {
  return `${name}(${types[name].map((member) => `${member.type} ${member.name}`).join(",")})`;
}

describe.each(PROXIES)("the $name proxy", ({ address, abi, types }) => {
  const read = (functionName: "PERMIT2" | "WITNESS_TYPEHASH" | "WITNESS_TYPE_STRING") =>
    client.readContract({ address, abi: abi as typeof x402ExactPermit2ProxyABI, functionName });

  test("the proxy passes the witness to Permit2 that clients sign", async () => {
    expect(await read("PERMIT2")).toBe(PERMIT2_ADDRESS);
    const [token, witness] = [encodeType("TokenPermissions", types), encodeType("Witness", types)];
    expect(await read("WITNESS_TYPEHASH")).toBe(keccak256(toBytes(witness)));
    expect(await read("WITNESS_TYPE_STRING")).toBe(`Witness witness)${token}${witness}`);
  });
});

describe("an allowance for Permit2", () => {
  const allowance = (owner: `0x${string}`) =>
    client.readContract({
      address: chain.asset,
      abi: erc20Abi,
      functionName: "allowance",
      args: [owner, PERMIT2_ADDRESS],
    });

  test("an allowance has no limit or an amount, and can be revoked", async () => {
    const { address } = createPayer();
    await chain.approvePermit2(address);
    expect(await allowance(address)).toBe(maxUint256);
    await chain.approvePermit2(address, 5n);
    expect(await allowance(address)).toBe(5n);
    await chain.approvePermit2(address, 0n);
    expect(await allowance(address)).toBe(0n);
    expect(await client.getBalance({ address })).toBe(0n);
  });

  test("a contract wallet can give an allowance", async () => {
    const wallet = await chain.deployWallet(createPayer().address);
    await chain.approvePermit2(wallet);
    expect(await allowance(wallet)).toBe(maxUint256);
  });

  test("an allowance cannot be given while mining is paused", async () => {
    await chain.pauseMining();
    await expect(chain.approvePermit2(createPayer().address)).rejects.toThrow("while mining is paused");
    await chain.resumeMining();
  });
});

describe("a payer", () => {
  const exact = {
    scheme: "exact",
    network: "eip155:84532",
    amount: "7",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    maxTimeoutSeconds: 60,
    extra: { assetTransferMethod: "permit2" },
  };
  const upto = {
    ...exact,
    scheme: "upto",
    extra: { facilitatorAddress: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" },
  };

  test("a payer signs the message that the reference facilitator checks", async () => {
    const payer = createPayer();
    const options = { nonce: `0x${"0".repeat(62)}ff`, now: () => 1_000_000 } as const;
    for (const [payment, types] of [
      [await payer.signExact(exact, options), permit2WitnessTypes],
      [await payer.signUpto(upto, options), uptoPermit2WitnessTypes],
    ] as const) {
      const { signature, permit2Authorization } = payment.payload as Record<string, unknown>;
      const [message, signed] = [permit2Authorization as never, signature as `0x${string}`];
      const domain = { name: "Permit2", chainId: 84532, verifyingContract: PERMIT2_ADDRESS } as const;
      const typed = {
        domain,
        types: types as typeof permit2WitnessTypes,
        primaryType: "PermitWitnessTransferFrom",
      } as const;
      expect(await recoverTypedDataAddress({ ...typed, message, signature: signed })).toBe(payer.address);
      expect(permit2Authorization).toMatchObject({ from: payer.address, nonce: "255", deadline: "1060" });
    }
  });

  test.each([
    ["signUpto", exact, "it is not scheme upto"],
    ["signUpto", { ...upto, extra: {} }, "its extra has no facilitatorAddress"],
    ["signUpto", { ...upto, amount: "1.5" }, "its amount is not a whole number of atomic units"],
    ["signExact", { ...exact, payTo: "unknown" }, "its asset or payTo is not an address"],
    ["signExact", { ...exact, network: "solana:1" }, "it is not scheme exact or upto on an eip155 network"],
  ] as const)("%s does not sign for another offer: %j", async (sign, offer, problem) => {
    await expect(createPayer()[sign](offer)).rejects.toThrow(`the offer cannot be paid: ${problem}`);
  });

  test("pay chooses Permit2 only without another payable offer", async () => {
    const byAuthorization = { ...exact, extra: { name: "USDC", version: "2" } };
    for (const [accepts, chosen] of [
      [[upto, exact, byAuthorization], byAuthorization],
      [[upto, exact], upto],
      [[{ ...upto, extra: {} }, exact], exact],
    ] as const) {
      const app = express().use((_req, res) => {
        const challenge = { x402Version: 2, resource: { url: "http://localhost/" }, accepts };
        res
          .status(402)
          .set("PAYMENT-REQUIRED", Buffer.from(JSON.stringify(challenge)).toString("base64"))
          .json({});
      });
      expect((await pay(app, { payer: createPayer() })).payment?.accepted).toEqual(chosen);
    }
  });
});
