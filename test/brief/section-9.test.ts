/**
 * The brief's section 9, "Versioning". Its sentence about guarantees says nothing that can be tested.
 *
 * @module
 */
import { createPayments } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { PATIENT_SELLER } from "../interop/servers.js";
import {
  challengeOf,
  closeAllAtEnd,
  declared,
  entriesOf,
  listRoute,
  NETWORK,
  OFFER,
  offerIn,
  openFacilitator,
  openSeller,
} from "./marketplace.js";

closeAllAtEnd();

const library = await openFacilitator();

test("9 Catalog entries carry `x402Version`; the published shape has value `2`.", async () => {
  await listRoute(library, "GET /weather", declared(), "/weather");
  expect((await entriesOf(library)).map(({ x402Version }) => x402Version)).toEqual([2]);
});

test("9 Version 2 uses CAIP-2 network identifiers.", async () => {
  const { url } = await openSeller(library.url, { "GET /weather": declared() });
  const { header } = await challengeOf(`${url}/weather`);
  expect([header["x402Version"], offerIn(header)["network"]]).toEqual([2, NETWORK]);
  const payments = createPayments({ ...PATIENT_SELLER, facilitator: createTestFacilitator() });
  expect(() => payments.routes({ "GET /weather": { accepts: { ...OFFER, network: "base" as never } } })).toThrow(
    /CAIP-2/,
  );
});

test("9 Version negotiation and deprecation policy: not shown. Here a payment of another version is refused", async () => {
  const { url } = await openSeller(library.url, { "GET /weather": declared() });
  const wallet = new x402Client().register("eip155:*", new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())));
  const { header } = await challengeOf(`${url}/weather`);
  const payment = await wallet.createPaymentPayload(header as never);
  const send = async (x402Version: number) => {
    const text = Buffer.from(JSON.stringify({ ...payment, x402Version })).toString("base64");
    const { status, body } = await challengeOf(`${url}/weather`, { headers: { "PAYMENT-SIGNATURE": text } });
    return [status, body["x402Version"]];
  };
  expect([await send(1), await send(3), await send(2)]).toEqual([
    [400, 2],
    [400, 2],
    [200, undefined],
  ]);
});
