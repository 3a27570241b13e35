/**
 * The local Solana network, used by the library of clients.
 */
import { startLocalSvm } from "@farebox/testing";
import { address, createSolanaRpc } from "@solana/kit";
import { expect, test } from "vitest";

const OWNER = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";

test("the local network has devnet's name and USDC, and serves @solana/kit", async () => {
  const local = await startLocalSvm();
  const rpc = createSolanaRpc(local.rpcUrl);
  expect(`solana:${(await rpc.getGenesisHash().send()).slice(0, 32)}`).toBe(local.network);
  expect((await rpc.getLatestBlockhash().send()).value.blockhash).toBe(local.latestBlockhash());
  const mint = await rpc.getAccountInfo(address(local.asset), { encoding: "base64" }).send();
  expect(mint.value?.owner).toBe("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
  await expect(rpc.getVersion().send()).rejects.toThrow("not found");
  expect(local.asked).toEqual(["getGenesisHash", "getLatestBlockhash", "getAccountInfo", "getVersion"]);
  await local.close();
  await local.close();
});

test("the local network sets balances, gives SOL, and expires blockhashes", async () => {
  const local = await startLocalSvm();
  expect(local.balanceOf(OWNER)).toBeUndefined();
  local.setBalance(OWNER, 5n);
  expect(local.balanceOf(OWNER)).toBe(5n);
  local.airdrop(OWNER, 7_000_000n);
  expect(local.lamportsOf(OWNER)).toBe(7_000_000n);
  const before = local.latestBlockhash();
  local.expireBlockhash();
  expect(local.latestBlockhash()).not.toBe(before);
  expect(() => local.setBalance("nobody", 1n)).toThrow();
  await local.close();
});
