/**
 * Runs the bridge as a process, like an MCP client, with a seller on a local EVM chain and a local Solana network. Checks the
 * balances.
 *
 * @module
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { paymentMiddleware } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { anvilAccounts, startLocalChain, startLocalSvm } from "@farebox/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { getBase58Decoder } from "@solana/kit";
import express from "express";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";

const BRIDGE = fileURLToPath(new URL("server.js", import.meta.url));

const [evmSigner, evmSeller] = anvilAccounts;
assert.ok(evmSigner !== undefined && evmSeller !== undefined);
const evmKey = generatePrivateKey();
const evmPayer = privateKeyToAddress(evmKey);
const [svmPayer, svmSigner, svmSeller] = [createKeyPair(), createKeyPair(), createKeyPair()];

const folder = await mkdtemp(join(tmpdir(), "farebox-bridge-"));
const [evm, svm] = await Promise.all([startLocalChain(), startLocalSvm()]);
const server = sellWeather().listen(0, "127.0.0.1");
try {
  await once(server, "listening");
  const RESOURCE_SERVER_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await evm.fund(evmPayer, { usdc: 10_000n });
  svm.airdrop(svmSigner.address, 10_000_000_000n);
  svm.setBalance(svmPayer.address, 10_000n);
  svm.setBalance(svmSeller.address, 0n);

  // With a key for an EVM chain, the bridge pays there. The tool says what a call costs, the result what is left.
  await withBridge({ EVM_PRIVATE_KEY: evmKey, RESOURCE_SERVER_URL, MAX_TOTAL: "0.0015" }, async (client) => {
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["get_weather"],
    );
    assert.match(tools[0]?.description ?? "", /\$0\.001 USDC on Base Sepolia .*per call/);
    const { content, isError, _meta } = await call(client, "get_weather", { queryParams: { city: "Paris" } });
    assert.equal(isError, undefined);
    assert.deepEqual(content[0], { type: "text", text: '{"weather":"sunny","city":"Paris"}' });
    assert.deepEqual(content.at(-1), { type: "text", text: "Budget: $0.0005 left of $0.0015." });
    assert.equal(JSON.stringify(_meta).includes('"success":true'), true);
    assert.equal(await evm.balanceOf(evmPayer), 9_000n);
    assert.equal(await evm.balanceOf(evmSeller.address), 1_000n);
  });

  // Its budget outlives it: another bridge with the same file does not pay. It would pay no high price either.
  const paths = { RESOURCE_SERVER_URL, ENDPOINT_PATH: "/weather, /mansion", MAX_TOTAL: "0.0015" };
  await withBridge({ EVM_PRIVATE_KEY: evmKey, ...paths }, async (client) => {
    assert.match(JSON.stringify(await call(client, "get_weather", {})), /more than what is left of MAX_TOTAL/);
    assert.match(JSON.stringify(await call(client, "get_mansion", {})), /more than MAX_PER_CALL/);
  });
  assert.equal(await evm.balanceOf(evmPayer), 9_000n);

  // Of an `upto` price it pays what was used, and the maximum of each signed payment counts. A person must first let Permit2 move
  // the token; the result says so.
  const words = { RESOURCE_SERVER_URL, ENDPOINT_PATH: "/words", BUDGET_FILE: join(folder, "words"), MAX_TOTAL: "0.01" };
  await withBridge({ EVM_PRIVATE_KEY: evmKey, ...words }, async (client) => {
    assert.match(JSON.stringify(await call(client, "get_words", {})), /must first call approve\(0x0{10}22D473/);
    await evm.fund(evmPayer, { eth: 10n ** 18n });
    await evm.approvePermit2(evmPayer);
    const { content } = await call(client, "get_words", {});
    assert.deepEqual(content.at(-1), { type: "text", text: "Budget: $0 left of $0.01." });
  });
  assert.equal(await evm.balanceOf(evmPayer), 7_000n);

  // With a key for Solana, the bridge pays on Solana.
  const solana = { SVM_PRIVATE_KEY: svmPayer.secretKey, SVM_RPC_URL: svm.rpcUrl };
  await withBridge({ ...solana, RESOURCE_SERVER_URL, ENDPOINT_PATH: "/weather" }, async (client) => {
    assert.equal((await call(client, "get_weather", {})).isError, undefined);
    assert.equal(svm.balanceOf(svmPayer.address), 9_000n);
    assert.equal(svm.balanceOf(svmSeller.address), 1_000n);
  });

  // Without a valid key the bridge does not start, and says why without printing the key.
  const wrong = `0x${"5".repeat(63)}`;
  assert.match(await startWrong({}), /at least one of EVM_PRIVATE_KEY and SVM_PRIVATE_KEY must be provided/);
  const problems = await startWrong({
    EVM_PRIVATE_KEY: wrong,
    SVM_PRIVATE_KEY: "0OIl",
    RESOURCE_SERVER_URL: "ftp://a",
    MAX_TOTAL: "1e3",
  });
  assert.deepEqual(problems.trim().split("\n"), [
    "EVM_PRIVATE_KEY must be 0x and 64 hexadecimal digits",
    "SVM_PRIVATE_KEY must be the 64 bytes of a key pair in base58",
    "RESOURCE_SERVER_URL must be an http or https URL",
    'MAX_TOTAL must be a positive amount of dollars such as "0.10"',
  ]);
} finally {
  server.closeAllConnections();
  server.close();
  await Promise.all([evm.close(), svm.close(), rm(folder, { recursive: true })]);
}
console.log("an MCP client without a wallet called a paid endpoint");

/** A seller that accepts both networks. */
function sellWeather() {
  const keys = { privateKey: evmSigner!.privateKey, pollingIntervalMs: 10 };
  const evmChain = createRpcChain({ network: evm.network, rpcUrl: evm.rpcUrl, ...keys });
  const svmKeys = { privateKey: svmSigner.secretBytes, pollingIntervalMs: 10 };
  const svmChain = createRpcSvmChain({ network: svm.network, rpcUrl: svm.rpcUrl, ...svmKeys });
  const schemes = [
    createExactEvmScheme({ chain: evmChain }),
    createUptoEvmScheme({ chain: evmChain }),
    createExactSvmScheme({ chain: svmChain }),
  ];
  const accepts = (price: `$${number}`) => [
    { price, network: evm.network, payTo: evmSeller!.address },
    { price, network: svm.network, payTo: svmSeller.address },
  ];
  const app = express().set("env", "test");
  const routes = {
    "/weather": { accepts: accepts("$0.001") },
    "/mansion": { accepts: accepts("$500") },
    "/words": { accepts: { scheme: "upto", price: "$0.005", network: evm.network, payTo: evmSeller!.address } },
  };
  app.use(paymentMiddleware(routes, { facilitator: createFacilitator({ schemes }) }));
  app.get("/weather", (req, res) => void res.json({ weather: "sunny", city: req.query["city"] }));
  app.get("/words", (req, res) => {
    req.payment?.charge("$0.002");
    res.json({ words: 8 });
  });
  app.get("/mansion", (_req, res) => void res.json({ rooms: 40 }));
  return app;
}

async function withBridge(given: Record<string, string>, act: (client: Client) => Promise<void>): Promise<void> {
  const env = { BUDGET_FILE: join(folder, "budget"), ...given };
  const client = new Client({ name: "an MCP client", version: "1.0.0" });
  const transport = new StdioClientTransport({ command: process.execPath, args: [BRIDGE], env, stderr: "pipe" });
  let stderr = "";
  transport.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  await client.connect(transport);
  await act(client).finally(() => client.close());
  assert.equal(stderr, "");
}

async function call(client: Client, name: string, input: Record<string, unknown>): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: input })) as CallToolResult;
}

/** Starts the bridge with wrong settings, and returns its stderr. */
async function startWrong(env: Record<string, string>): Promise<string> {
  const bridge = spawn(process.execPath, [BRIDGE], { env, stdio: ["pipe", "pipe", "pipe"] });
  const [[code], out, err] = await Promise.all([once(bridge, "exit"), text(bridge.stdout), text(bridge.stderr)]);
  assert.equal(code, 1);
  assert.equal(out, "");
  return err;
}

function createKeyPair() {
  const { d, x } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  const [secret, open] = [Buffer.from(d ?? "", "base64url"), Buffer.from(x ?? "", "base64url")];
  const secretBytes = Uint8Array.from(Buffer.concat([secret, open]));
  const { decode } = getBase58Decoder();
  return { address: decode(open), secretKey: decode(secretBytes), secretBytes };
}
