/**
 * Signed offers and receipts, read and verified by `@x402/extensions`; and its issuers in our extension's place.
 *
 * @module
 */
import { generateKeyPairSync, type JsonWebKey, sign } from "node:crypto";
import {
  createEIP712OfferReceiptIssuer,
  createJWSOfferReceiptIssuer,
  type JWSSigner,
  type OfferReceiptIssuer,
} from "@farebox/extensions";
import {
  createEIP712OfferReceiptIssuer as createTheirs,
  decodeSignedOffers,
  extractJWSHeader,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureEIP712,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureEIP712,
  verifyReceiptSignatureJWS,
} from "@x402/extensions/offer-receipt";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, onTestFinished, test, vi } from "vitest";

const URL_ = 'https://api.example.com/weather/S%C3%A3o?q="\\';
const OFFER = {
  acceptIndex: 1,
  scheme: "exact",
  network: "eip155:84532",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  amount: "10000",
  offerValiditySeconds: 60,
};
const PAYER = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
const TRANSACTION = `0x${"ab".repeat(32)}`;

/** Keys of the two algorithms that `did:key` and `did:web` documents have most. */
function jwsSigner(algorithm: "EdDSA" | "ES256"): { signer: JWSSigner; key: JsonWebKey } {
  const pair =
    algorithm === "EdDSA" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = pair.publicKey.export({ format: "jwk" });
  const kid = `did:jwk:${Buffer.from(JSON.stringify(key)).toString("base64url")}#0`;
  const hash = algorithm === "EdDSA" ? null : "sha256";
  const signer: JWSSigner = {
    kid,
    format: "jws",
    algorithm,
    sign: async (bytes) => sign(hash, bytes, { key: pair.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url"),
  };
  return { signer, key };
}

describe.each(["EdDSA", "ES256"] as const)("a JWS by %s", (algorithm) => {
  test("the reference finds the key by the offer's kid, verifies it, and finds the offer in accepts", async () => {
    const { signer } = jwsSigner(algorithm);
    const issuer = createJWSOfferReceiptIssuer(signer.kid!, signer);
    const before = Math.floor(Date.now() / 1000);
    const signed = await issuer.issueOffer(URL_, OFFER);
    const payload = await verifyOfferSignatureJWS(signed as never);
    const { acceptIndex, offerValiditySeconds, ...terms } = OFFER;
    expect(payload).toEqual({ version: 1, resourceUrl: URL_, ...terms, validUntil: expect.any(Number) });
    expect(payload.validUntil - before - offerValiditySeconds).toBeOneOf([0, 1]);
    expect(extractJWSHeader(signed.signature)).toEqual({ alg: algorithm, kid: signer.kid });
    const accepts = [{ ...terms, amount: "1" }, terms];
    expect(findAcceptsObjectFromSignedOffer(signed as never, accepts as never)).toBe(accepts[acceptIndex]);
  });

  test("the reference verifies the receipt, which belongs to the offer", async () => {
    const { signer, key } = jwsSigner(algorithm);
    const issuer = createJWSOfferReceiptIssuer(signer.kid!, signer);
    const [offer] = decodeSignedOffers([(await issuer.issueOffer(URL_, OFFER)) as never]);
    const receipt = await issuer.issueReceipt(URL_, PAYER, OFFER.network);
    const payload = await verifyReceiptSignatureJWS(receipt as never, key as never);
    expect(payload).toEqual({
      version: 1,
      network: OFFER.network,
      resourceUrl: URL_,
      payer: PAYER,
      issuedAt: expect.any(Number),
    });
    expect(verifyReceiptMatchesOffer(receipt as never, offer!, [PAYER])).toBe(true);
    const told = await issuer.issueReceipt(URL_, PAYER, OFFER.network, TRANSACTION);
    expect(await verifyReceiptSignatureJWS(told as never, key as never)).toHaveProperty("transaction", TRANSACTION);
  });

  test("the reference refuses a changed offer", async () => {
    const { signer, key } = jwsSigner(algorithm);
    const signed = await createJWSOfferReceiptIssuer(signer.kid!, signer).issueOffer(URL_, OFFER);
    const [header, payload = "", signature] = signed.signature.split(".");
    const cheaper = Buffer.from(payload, "base64url").toString("utf8").replace('"10000"', '"1"');
    const changed = [header, Buffer.from(cheaper).toString("base64url"), signature].join(".");
    await expect(verifyOfferSignatureJWS({ format: "jws", signature: changed }, key as never)).rejects.toThrow(
      /signature verification failed/,
    );
  });
});

test("a signer without a kid signs under the issuer's", async () => {
  const { signer } = jwsSigner("EdDSA");
  const { kid, ...rest } = signer;
  const signed = await createJWSOfferReceiptIssuer(kid!, rest).issueReceipt(URL_, PAYER, OFFER.network);
  expect(extractJWSHeader(signed.signature).kid).toBe(kid);
});

test.each([5, "", "a\r\nb", "x".repeat(2_000)])("a signer that returns %j has signed nothing", async (signature) => {
  const sign = async () => signature as string;
  const { signer } = jwsSigner("EdDSA");
  const issuers = [
    createJWSOfferReceiptIssuer("kid", { ...signer, sign }),
    createEIP712OfferReceiptIssuer("kid", sign),
  ];
  for (const issuer of issuers) {
    await expect(issuer.issueOffer(URL_, OFFER)).rejects.toThrow("returned no signature");
    await expect(issuer.issueReceipt(URL_, PAYER, OFFER.network)).rejects.toThrow("returned no signature");
  }
});

test("an issuer that cannot sign is refused, with every issue at once", () => {
  expect(() => createJWSOfferReceiptIssuer("", { algorithm: 5, sign: 5 } as never)).toThrow(
    /kid: .*\n.*jwsSigner.algorithm: .*\n.*jwsSigner.sign: /,
  );
  expect(() => createJWSOfferReceiptIssuer("k", undefined as never)).toThrow(/jwsSigner.sign: /);
  expect(() => createEIP712OfferReceiptIssuer(5 as never, 5 as never)).toThrow(/kid: .*\n.*signTypedData: /);
});

describe("EIP-712", () => {
  const account = privateKeyToAccount(generatePrivateKey());
  const kid = `did:pkh:eip155:1:${account.address}#key-1`;
  const issuer = createEIP712OfferReceiptIssuer(kid, (data) => account.signTypedData(data));

  test("the reference recovers the signer of an offer and of a receipt", async () => {
    const offer = await issuer.issueOffer(URL_, OFFER);
    expect((await verifyOfferSignatureEIP712(offer as never)).signer).toBe(account.address);
    for (const transaction of [undefined, TRANSACTION]) {
      const receipt = await issuer.issueReceipt(URL_, PAYER, "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", transaction);
      const { signer, payload } = await verifyReceiptSignatureEIP712(receipt as never);
      expect([signer, payload.transaction]).toEqual([account.address, transaction ?? ""]);
    }
  });

  test("our signature is the reference's, byte for byte", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const theirs: OfferReceiptIssuer = createTheirs(kid, (data) => account.signTypedData(data as never)) as never;
    const [own, other] = [await issuer.issueOffer(URL_, OFFER), await theirs.issueOffer(URL_, OFFER)];
    expect(own).toEqual(other);
  });
});
