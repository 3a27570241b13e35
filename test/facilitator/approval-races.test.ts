/** Failures between the approval that a facilitator sponsors and the payment that needs it. */
import { createWalletClient, http } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type ApprovalStage,
  describeApproval,
  expectNothingIsSpent,
  fillApproval,
  GENEROUS,
  openApprovalStage,
  openPayment,
  openSponsor,
  purseOf,
  signApproval,
  sponsored,
} from "./approval-stage.js";
import { openScheme } from "./permit2-stage.js";
import { startRpcProxy } from "./rpc-proxy.js";
import { newAddress, openStage, PATIENT, receiptOf, type Stage } from "./stage.js";

const ALLOWANCE = "permit2_allowance_required";

let stage: Stage;
let at: ApprovalStage;

beforeAll(async () => {
  stage = await openStage();
  at = await openApprovalStage(stage);
});

afterAll(() => stage.close());

describe("a quick payer", () => {
  test("a payer that spends the grant gets no other: the payment is not sent", async () => {
    const { account, payment } = await openPayment(at, "exact");
    const proxy = await startRpcProxy(stage.chain.rpcUrl);
    onTestFinished(() => proxy.close());
    const request = sponsored(payment, await signApproval(at, account));
    const scheme = openScheme(stage, "exact", {
      privateKey: at.privateKey,
      sponsoring: GENEROUS,
      rpcUrl: proxy.url,
    });
    let lateMs = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
    onTestFinished(() => clock.mockRestore());
    // The second transaction that the facilitator sends is the approval: the payer's own comes before it.
    let [sent, isSpent] = [0, false];
    const other: { hash?: Promise<string> } = {};
    proxy.decide(({ method }) => {
      if (method !== "eth_sendRawTransaction" || ++sent < 2 || isSpent) return "pass";
      other.hash ??= spend(account).then((hash) => {
        isSpent = true;
        // The approval never comes, so the facilitator waits until its time is over.
        lateMs = PATIENT.receiptTimeoutMs;
        return hash;
      });
      // Sent again, the approval would get there first.
      return "lose-request";
    });
    const before = await purseOf(at);
    const first = await scheme.settle(request);
    expect(first).toMatchObject({ success: false, errorReason: "unexpected_settle_error", transaction: "" });
    await other.hash;
    const after = await purseOf(at);
    expect(before[0] - after[0]).toBeLessThan(GENEROUS.maxGrantWei);
    await expectNothingIsSpent(at, scheme, { request, reason: ALLOWANCE });
    const again = sponsored(payment, await signApproval(at, account, { nonce: 1, maxFeePerGas: 4n * 10n ** 9n }));
    await expectNothingIsSpent(at, scheme, { request: again, reason: ALLOWANCE });
  });

  async function spend(account: PrivateKeyAccount): Promise<string> {
    const wallet = createWalletClient({ account, transport: http(stage.chain.rpcUrl) });
    const hash = await wallet.sendTransaction({ to: newAddress(), value: 1n, gas: 21_000n, chain: null });
    await receiptOf(stage.client, hash);
    return hash;
  }
});

test("a payment is made after an approval whose response was lost, and after one that is already on the network", async () => {
  const proxy = await startRpcProxy(stage.chain.rpcUrl);
  onTestFinished(() => proxy.close());
  const scheme = openScheme(stage, "exact", { privateKey: at.privateKey, sponsoring: GENEROUS, rpcUrl: proxy.url });
  const { account, payment } = await openPayment(at, "exact");
  let sent = 0;
  proxy.decide(({ method }) => (method === "eth_sendRawTransaction" && ++sent === 2 ? "lose-response" : "pass"));
  const request = sponsored(payment, await signApproval(at, account));
  expect(await scheme.settle(request)).toMatchObject({ success: true });
});

test("a grant covers the extra cost of data on a rollup", async () => {
  const oracle = "0x420000000000000000000000000000000000000F";
  const fee = 10n ** 12n;
  // Returns 10^12 to every call.
  await stage.rpc("anvil_setCode", oracle, `0x64${fee.toString(16).padStart(10, "0")}60005260206000f3`);
  onTestFinished(async () => void (await stage.rpc("anvil_setCode", oracle, "0x")));
  const { account, payment } = await openPayment(at, "exact");
  const approval = await fillApproval(at);
  const signedTransaction = await account.signTransaction({ type: "eip1559", ...approval });
  const request = sponsored(payment, describeApproval(at, account.address, signedTransaction));
  const most = approval.gas * approval.maxFeePerGas + (5n * fee) / 4n;
  const stingy = openSponsor(at, "exact", { ...GENEROUS, maxGrantWei: most - 1n });
  await expectNothingIsSpent(at, stingy, { request, reason: ALLOWANCE });
  const scheme = openSponsor(at, "exact", { ...GENEROUS, maxGrantWei: most });
  expect(await scheme.settle(request)).toMatchObject({ success: true });
});
