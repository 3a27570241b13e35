/** `verifySignatures`: a signature that is not the payer's costs no call of a facilitator. */
import type { PaymentPayload } from "@farebox/core";
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { PaymentsOptions, RoutesConfig } from "@farebox/express";
import { createPayer } from "@farebox/testing";
import express from "express";
import { describe, expect, test } from "vitest";
import { NEWEST, openShop, PAY_TO, PRICED, type Shop } from "./shop.js";

const ASKED: Partial<PaymentsOptions> = { verifySignatures: true };
const FORGED = "invalid_exact_evm_payload_signature";

type Payload = { readonly signature: string } & Record<string, unknown>;

/** The same payment with another signature. */
function withSignature(payment: PaymentPayload, change: (signature: string) => string): string {
  const payload = payment.payload as Payload;
  return encodePaymentSignature({ ...payment, payload: { ...payload, signature: change(payload.signature) } });
}

function openSeller(version: typeof express, options: Partial<PaymentsOptions>, routes?: RoutesConfig): Promise<Shop> {
  const handler = (_req: express.Request, res: express.Response) => void res.json({ paid: true });
  return openShop(version, { handler, options, ...(routes === undefined ? {} : { routes }) });
}

const send = (shop: Shop, header: string) => shop.ask({ headers: { "PAYMENT-SIGNATURE": header } });

describe.each(NEWEST)("%s", (_name, version) => {
  const OTHERS: readonly (readonly [what: string, change: (signature: string) => string])[] = [
    ["of no key", () => `0x${"11".repeat(65)}`],
    ["of zeros", () => `0x${"00".repeat(65)}`],
    [
      "with another digit",
      (signature) => signature.replace(/^0x(.)/, (_all, digit) => (digit === "1" ? "0x2" : "0x1")),
    ],
    ["of another key", (signature) => signature.replace(/..$/, (v) => (v === "1b" ? "1c" : "1b"))],
    ["with a recovery id that there is not", (signature) => signature.replace(/..$/, "ff")],
  ];

  test.each(OTHERS)("a signature %s is refused, and no facilitator is asked", async (_what, change) => {
    const shop = await openSeller(version, ASKED);
    const { payment } = await shop.sign();
    const { status, challenge } = await send(shop, withSignature(payment, change));
    expect({ status, error: challenge?.error }).toEqual({ status: 402, error: FORGED });
    expect(shop.facilitator.verified).toEqual([]);
    expect(shop.facilitator.settled).toEqual([]);
  });

  test("a good payment is paid after one that was forged in its name", async () => {
    const shop = await openSeller(version, ASKED);
    const { payment, header } = await shop.sign();
    expect(
      (
        await send(
          shop,
          withSignature(payment, () => `0x${"22".repeat(65)}`),
        )
      ).status,
    ).toBe(402);
    expect((await send(shop, header)).status).toBe(200);
    expect(shop.facilitator.verified).toHaveLength(1);
    expect(shop.facilitator.settled).toEqual([10_000n]);
  });

  test("a signature of another length is a contract wallet's, and goes to the facilitator", async () => {
    const shop = await openSeller(version, ASKED);
    const { payment } = await shop.sign();
    const { status } = await send(
      shop,
      withSignature(payment, (signature) => `${signature}00`),
    );
    expect(status).toBe(402);
    expect(shop.facilitator.verified).toHaveLength(1);
  });

  test("a signature goes to the facilitator without the option", async () => {
    const shop = await openSeller(version, {});
    const { payment } = await shop.sign();
    const { status } = await send(
      shop,
      withSignature(payment, () => `0x${"11".repeat(65)}`),
    );
    expect(status).toBe(402);
    expect(shop.facilitator.verified).toHaveLength(1);
  });
});

test.each(["checksums", "capitals", "small letters"])(
  "addresses in a signed payment may be written in %s",
  async (form) => {
    const write = (address: string): string => {
      if (form === "capitals") return `0x${address.slice(2).toUpperCase()}`;
      return form === "checksums" ? address : address.toLowerCase();
    };
    const shop = await openSeller(express, ASKED);
    const { payment } = await shop.sign();
    const { authorization, ...rest } = payment.payload as unknown as {
      authorization: { from: string; to: string };
      signature: string;
    };
    const { from, to } = authorization;
    const payload = { ...rest, authorization: { ...authorization, from: write(from), to: write(to) } };
    expect((await send(shop, encodePaymentSignature({ ...payment, payload }))).status).toBe(200);
  },
);

describe.each(["exact", "upto"] as const)("%s by Permit2", (scheme) => {
  const asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
  const price = {
    asset,
    amount: "10000",
    extra: { assetTransferMethod: "permit2", facilitatorAddress: PAY_TO },
  } as const;
  const accepts = {
    scheme,
    network: "eip155:84532",
    payTo: PAY_TO,
    price,
    extra: { facilitatorAddress: PAY_TO },
  } as const;

  test("a Permit2 signature is checked in the domain of Permit2: the payer's goes to the facilitator, another one nowhere", async () => {
    const payer = createPayer();
    const asked: string[] = [];
    const facilitator: PaymentsOptions["facilitator"] = {
      async verify({ paymentPayload }) {
        asked.push(String((paymentPayload.payload as Payload).signature));
        return { isValid: false, invalidReason: "insufficient_funds" };
      },
      async settle() {
        return { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" };
      },
      async supported() {
        const extra = { facilitatorAddress: PAY_TO };
        const kinds = [{ x402Version: 2, scheme, network: "eip155:84532" as const, extra }];
        return { kinds, extensions: [], signers: {} };
      },
    };
    const shop = await openSeller(express, { ...ASKED, facilitator }, { "GET /paid": { accepts } });
    const { challenge } = await shop.ask();
    const [offer] = challenge?.accepts ?? [];
    const payment = await (scheme === "exact"
      ? payer.signExact(offer!, { challenge: challenge! })
      : payer.signUpto(offer!, { challenge: challenge! }));
    const forged = await send(
      shop,
      withSignature(payment, (signature) => signature.replace(/.(?=.{40}$)/, (d) => (d === "1" ? "2" : "1"))),
    );
    expect(forged.challenge?.error).toBe(FORGED);
    expect(asked).toEqual([]);
    const good = await send(shop, encodePaymentSignature(payment));
    expect(good.challenge?.error).toBe("insufficient_funds");
    expect(asked).toEqual([(payment.payload as Payload).signature]);
  });
});

test("verifySignatures must be true or false", async () => {
  const wrong = { verifySignatures: "yes" } as unknown as Partial<PaymentsOptions>;
  await expect(openShop(express, { options: wrong, routes: { "GET /paid": PRICED } })).rejects.toThrow(
    "options.verifySignatures: expected true or false",
  );
});
