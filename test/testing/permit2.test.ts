/** Permit2 and the proxies of x402 on a local chain, against what the reference implementation knows of them. */
import { createPayer, type LocalChain, startLocalChain } from "@farebox/testing";
import {
  PERMIT2_ADDRESS,
  permit2WitnessTypes,
  uptoPermit2WitnessTypes,
  x402ExactPermit2ProxyABI,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyABI,
  x402UptoPermit2ProxyAddress,
} from "@x402/evm";
import { createPublicClient, erc20Abi, http, keccak256, maxUint256, type PublicClient, toBytes } from "viem";
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

/** A type as EIP-712 writes it, members of other types left out. */
function encodeType(
  name: "TokenPermissions" | "Witness",
  types: typeof permit2WitnessTypes | typeof uptoPermit2WitnessTypes,
): string {
  return `${name}(${types[name].map((member) => `${member.type} ${member.name}`).join(",")})`;
}

describe.each(PROXIES)("the $name proxy", ({ address, abi, types }) => {
  const read = (functionName: "PERMIT2" | "WITNESS_TYPEHASH" | "WITNESS_TYPE_STRING") =>
    client.readContract({ address, abi: abi as typeof x402ExactPermit2ProxyABI, functionName });

  test("speaks to Permit2 of the witness that clients sign", async () => {
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

  test("is given without limit, or of an amount, and taken back", async () => {
    const { address } = createPayer();
    await chain.approvePermit2(address);
    expect(await allowance(address)).toBe(maxUint256);
    await chain.approvePermit2(address, 5n);
    expect(await allowance(address)).toBe(5n);
    await chain.approvePermit2(address, 0n);
    expect(await allowance(address)).toBe(0n);
    expect(await client.getBalance({ address })).toBe(0n);
  });

  test("is given by a contract wallet too", async () => {
    const wallet = await chain.deployWallet(createPayer().address);
    await chain.approvePermit2(wallet);
    expect(await allowance(wallet)).toBe(maxUint256);
  });

  test("cannot be given while mining is paused", async () => {
    await chain.pauseMining();
    await expect(chain.approvePermit2(createPayer().address)).rejects.toThrow("while mining is paused");
    await chain.resumeMining();
  });
});
