/**
 * Every seller with every facilitator and every client, on a real chain: who is ours and who is the reference's must not
 * matter to anybody's balance.
 */
import { anvilAccounts, type LocalChain } from "@farebox/testing";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { borrowChain } from "../worker-chain.js";
import { axiosClient, fetchClient, ourFacilitator, ourSeller, referenceFacilitator, referenceSeller } from "./peers.js";
import { listen, type Running } from "./servers.js";

const SELLERS = { "our seller": ourSeller, "the reference seller": referenceSeller };
const FACILITATORS = { "our facilitator": ourFacilitator, "the reference facilitator": referenceFacilitator };
const CLIENTS = { "@x402/fetch": fetchClient, "@x402/axios": axiosClient };

const GOODS = [
  { what: "GET /weather", price: 1_000n, path: "/weather", post: undefined, answer: { weather: "sunny" } },
  {
    what: "POST /echo/:name with a body",
    price: 250_000n,
    path: "/echo/ada?x=1",
    post: { say: "hello" },
    answer: { name: "ada", body: { say: "hello" } },
  },
];

let chain: LocalChain;
const running: Running[] = [];
const facilitatorUrls = new Map<string, string>();

beforeAll(async () => {
  chain = await borrowChain();
  // Each facilitator has a signer of its own: they do not share a transaction count.
  for (const [at, [name, create]] of Object.entries(FACILITATORS).entries()) {
    const facilitator = await listen(create(chain, anvilAccounts[at]!.privateKey));
    running.push(facilitator);
    facilitatorUrls.set(name, facilitator.url);
  }
});

afterAll(async () => {
  for (const server of running) await server.close();
  await chain.close();
});

describe.each(Object.entries(SELLERS))("%s", (_seller, createSeller) => {
  describe.each(Object.keys(FACILITATORS))("with %s", (facilitator) => {
    test.each(Object.entries(CLIENTS))("is paid by %s", async (_client, pay) => {
      const payTo = privateKeyToAccount(generatePrivateKey()).address;
      const privateKey = generatePrivateKey();
      const payer = privateKeyToAccount(privateKey).address;
      await chain.fund(payer, { usdc: 1_000_000n });
      const seller = await listen(createSeller(payTo, facilitatorUrls.get(facilitator)!));
      running.push(seller);

      let paid = 0n;
      for (const { price, path, post, answer } of GOODS) {
        const got = await pay(privateKey, seller.url + path, post);
        expect(got.status).toBe(200);
        expect(got.json).toEqual(answer);
        expect(got.receipt).toMatchObject({ success: true, network: "eip155:84532" });
        expect(String(got.receipt?.["transaction"])).toMatch(/^0x[0-9a-f]{64}$/);
        paid += price;
        expect(await chain.balanceOf(payTo)).toBe(paid);
        expect(await chain.balanceOf(payer)).toBe(1_000_000n - paid);
      }
    });
  });
});
