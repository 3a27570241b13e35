import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { anvilAccounts, createPayer, type LocalChain, startLocalChain } from "@farebox/testing";
import { createPublicClient, createWalletClient, type Hex, http, parseAbi, parseSignature, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { receiptOf } from "../facilitator/stage.js";
import { borrowChain } from "../worker-chain.js";

const TOKEN = parseAbi([
  "function name() view returns (string)",
  "function version() view returns (string)",
  "function symbol() view returns (string)",
  "function decimals() view returns (uint8)",
  "function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, uint8, bytes32, bytes32)",
  "function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, bytes)",
]);

const AUTHORIZATION = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

const PAYER_KEY = toHex(7n, { size: 32 });
const payer = privateKeyToAccount(PAYER_KEY);
const payTo = anvilAccounts[1]!.address;
let chain: LocalChain;

beforeAll(async () => {
  chain = await borrowChain();
});

afterAll(() => chain.close());

function reader() {
  return createPublicClient({ transport: http(chain.rpcUrl) });
}

function sender() {
  const account = privateKeyToAccount(anvilAccounts[0]!.privateKey);
  return createWalletClient({ account, chain: baseSepolia, transport: http(chain.rpcUrl) });
}

async function authorize(value: bigint, nonce: Hex) {
  const message = { from: payer.address, to: payTo, value, validAfter: 0n, validBefore: 2n ** 40n, nonce };
  const signature = await payer.signTypedData({
    domain: { name: "USDC", version: "2", chainId: chain.chainId, verifyingContract: chain.asset },
    types: AUTHORIZATION,
    primaryType: "TransferWithAuthorization",
    message,
  });
  const args = [payer.address, payTo, value, 0n, 2n ** 40n, nonce] as const;
  return { args, signature };
}

describe("a local chain", () => {
  test("the local chain has chain id 84532 and Circle's token at the address of USDC on Base Sepolia", async () => {
    const read = (functionName: "name" | "version" | "symbol" | "decimals") =>
      reader().readContract({ address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", abi: TOKEN, functionName });
    expect(await reader().getChainId()).toBe(84532);
    expect(await Promise.all([read("name"), read("version"), read("symbol"), read("decimals")])).toEqual([
      "USDC",
      "2",
      "USDC",
      6,
    ]);
  });

  test("fund mints USDC and adds ETH", async () => {
    const address = privateKeyToAccount(toHex(8n, { size: 32 })).address;
    await chain.fund(address, { usdc: 1_000_000n, eth: 5n });
    await chain.fund(address, { usdc: 2n, eth: 6n });
    expect(await chain.balanceOf(address)).toBe(1_000_002n);
    expect(await reader().getBalance({ address })).toBe(11n);
  });

  test("transferWithAuthorization moves USDC with v, r and s", async () => {
    await chain.fund(payer.address, { usdc: 100n });
    const before = await chain.balanceOf(payTo);
    const { args, signature } = await authorize(60n, toHex(1n, { size: 32 }));
    const { r, s, yParity } = parseSignature(signature);
    const hash = await sender().writeContract({
      address: chain.asset,
      abi: TOKEN,
      functionName: "transferWithAuthorization",
      args: [...args, 27 + yParity, r, s],
    });
    expect((await receiptOf(reader(), hash)).status).toBe("success");
    expect((await chain.balanceOf(payTo)) - before).toBe(60n);
  });

  test("transferWithAuthorization moves USDC once with the signature as bytes", async () => {
    await chain.fund(payer.address, { usdc: 100n });
    const before = await chain.balanceOf(payTo);
    const { args, signature } = await authorize(40n, toHex(2n, { size: 32 }));
    const call = { address: chain.asset, abi: TOKEN, functionName: "transferWithAuthorization" } as const;
    const hash = await sender().writeContract({ ...call, args: [...args, signature] });
    expect((await receiptOf(reader(), hash)).status).toBe("success");
    expect((await chain.balanceOf(payTo)) - before).toBe(40n);
    await expect(sender().writeContract({ ...call, args: [...args, signature] })).rejects.toThrow(
      "authorization is used or canceled",
    );
  });

  test("transferWithAuthorization reverts for another amount than was signed", async () => {
    const { args, signature } = await authorize(1n, toHex(3n, { size: 32 }));
    const more = [args[0], args[1], 2n, args[3], args[4], args[5], signature] as const;
    const call = { address: chain.asset, abi: TOKEN, functionName: "transferWithAuthorization", args: more } as const;
    await expect(sender().writeContract(call)).rejects.toThrow("invalid signature");
  });

  test("a contract wallet pays with the signature of its owner only", async () => {
    const wallet = await chain.deployWallet(payer.address);
    await chain.fund(wallet, { usdc: 9n });
    const offer = {
      scheme: "exact",
      network: chain.network,
      amount: "9",
      asset: chain.asset,
      payTo,
      extra: { name: "USDC", version: "2" },
    };
    const settle = async (privateKey: Hex) => {
      const { payload } = await createPayer({ privateKey, wallet }).signExact(offer);
      const { signature, authorization } = payload as { signature: Hex; authorization: Record<string, string> };
      const { validAfter, validBefore, nonce } = authorization;
      const args = [wallet, payTo, 9n, BigInt(validAfter!), BigInt(validBefore!), nonce as Hex, signature] as const;
      return sender().writeContract({
        address: chain.asset,
        abi: TOKEN,
        functionName: "transferWithAuthorization",
        args,
      });
    };
    await expect(settle(anvilAccounts[3]!.privateKey)).rejects.toThrow("invalid signature");
    const hash = await settle(PAYER_KEY);
    expect((await receiptOf(reader(), hash)).status).toBe("success");
    expect(await chain.balanceOf(wallet)).toBe(0n);
  });

  test("transactions stay pending while mining is paused", async () => {
    const to = privateKeyToAccount(toHex(9n, { size: 32 })).address;
    await chain.pauseMining();
    await sender().sendTransaction({ to, value: 1n, gas: 21_000n });
    expect(await reader().getBalance({ address: to })).toBe(0n);
    await expect(chain.fund(to, { usdc: 1n })).rejects.toMatchObject({ code: "ERR_FAREBOX_LOCAL_CHAIN" });
    await chain.mine();
    expect(await reader().getBalance({ address: to })).toBe(1n);
    await sender().sendTransaction({ to, value: 1n, gas: 21_000n });
    await chain.resumeMining();
    expect(await reader().getBalance({ address: to })).toBe(2n);
  });

  test("fund works for many payers concurrently", async () => {
    const payers = Array.from({ length: 30 }, () => createPayer().address);
    await Promise.all(payers.map((each) => chain.fund(each, { usdc: 5n, eth: 1n })));
    expect(await Promise.all(payers.map((each) => chain.balanceOf(each)))).toEqual(payers.map(() => 5n));
  });

  test("the clock keeps real time when many blocks are mined, until increaseTime moves it forward", async () => {
    for (let block = 0; block < 30; block += 1) await chain.mine();
    const before = await chain.now();
    expect(before).toBeLessThanOrEqual(Math.floor(Date.now() / 1000) + 1);
    await chain.increaseTime(600);
    expect(await chain.now()).toBeGreaterThanOrEqual(before + 600);
  });
});

describe("startLocalChain", () => {
  const refused = { name: "LocalChainError", code: "ERR_FAREBOX_LOCAL_CHAIN" };

  test("startLocalChain fails with one clear error when the port is busy", async () => {
    const port = Number(new URL(chain.rpcUrl).port);
    await expect(startLocalChain({ port })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining("in use"),
    });
  });

  test("startLocalChain fails with one clear error when the binary is missing", async () => {
    await expect(startLocalChain({ binary: "/nowhere/anvil" })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining("/nowhere/anvil"),
    });
  });

  test.each([-1, 1.5, 65_536, Number.NaN])("startLocalChain refuses the port %s", async (port) => {
    await expect(startLocalChain({ port })).rejects.toMatchObject(refused);
  });

  test("an aborted signal closes the chain", async () => {
    const controller = new AbortController();
    const other = await startLocalChain({ signal: controller.signal });
    controller.abort();
    await other.close();
    await expect(other.balanceOf(payTo)).rejects.toMatchObject(refused);
  });

  test("startLocalChain fails when its signal aborts before or during the start", async () => {
    const controller = new AbortController();
    const starting = startLocalChain({ signal: controller.signal });
    controller.abort();
    await expect(starting).rejects.toMatchObject(refused);
    await expect(startLocalChain({ signal: controller.signal })).rejects.toMatchObject(refused);
  });

  test("a dozen chains start without a warning, and leave no listener when they close, once or twice", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    const listeners = process.listenerCount("exit");
    const chains = await Promise.all(Array.from({ length: 12 }, () => startLocalChain()));
    expect(new Set(chains.map(({ rpcUrl }) => rpcUrl)).size).toBe(12);
    // A second call does nothing.
    await Promise.all(chains.flatMap((each) => [each.close(), each.close()]));
    await chains[0]?.close();
    expect(process.listenerCount("exit")).toBe(listeners);
    process.off("warning", listen);
    expect(warnings).toEqual([]);
  });

  test.skipIf(process.platform === "win32")(
    "the local chain leaves no process behind when its parent ends by SIGKILL or SIGTERM",
    async () => {
      const script = `import { startLocalChain } from "@farebox/testing";
        const chain = await startLocalChain();
        process.stdout.write(chain.rpcUrl);
        setInterval(() => {}, 60_000);`;
      const ended = (["SIGKILL", "SIGTERM"] as const).map(async (signal) => {
        const child = runScript(script, "pipe");
        const exited = once(child, "exit");
        const [rpcUrl] = await once(child.stdout!.setEncoding("utf8"), "data");
        const connection = connect(Number(new URL(rpcUrl).port), "127.0.0.1");
        await once(connection, "connect");
        // A reset ends the connection as well as its end does.
        const closed = new Promise((resolve) => connection.on("error", () => {}).once("close", resolve));
        child.kill(signal);
        // The connection closes when the chain ends, because only the chain holds its other end.
        await closed;
        expect((await exited)[1]).toBe(signal);
      });
      await Promise.all(ended);
    },
  );

  test("a process ends while its chain runs", async () => {
    const script = `import { startLocalChain } from "@farebox/testing"; await startLocalChain();`;
    expect(await once(runScript(script, "inherit"), "exit")).toEqual([0, null]);
  });
});

function runScript(script: string, stdout: "pipe" | "inherit"): ChildProcess {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", stdout, "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
