/**
 * What it costs to check a payer's signature before anybody is asked, by scheme and method.
 *
 * Usage: `npx -y pnpm@10 bench:signatures`. Prints the median time of one check, of a good
 * signature and of a forged one; rounds are interleaved, so that what the machine does besides falls on all of them.
 *
 * @module
 */
import { exactEvm, uptoEvm } from "@farebox/evm";
import { createPayer } from "@farebox/testing";

const ROUNDS = 15;
const CHECKS = 40;

const ADDRESS = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const OFFER = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "10000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: ADDRESS,
  maxTimeoutSeconds: 300,
  extra: { name: "USDC", version: "2" },
};
const BY_PERMIT2 = { ...OFFER.extra, assetTransferMethod: "permit2", facilitatorAddress: ADDRESS };
const WAYS = [
  { name: "exact by EIP-3009", scheme: exactEvm(), offer: OFFER },
  { name: "exact by Permit2", scheme: exactEvm(), offer: { ...OFFER, extra: BY_PERMIT2 } },
  { name: "upto", scheme: uptoEvm(), offer: { ...OFFER, scheme: "upto", extra: BY_PERMIT2 } },
];

async function prepare({ name, scheme, offer }) {
  const payer = createPayer();
  const { payload } = await (offer.scheme === "upto" ? payer.signUpto(offer) : payer.signExact(offer));
  // Of another key, so that a key is recovered.
  const { signature } = (await createPayer().signExact(OFFER)).payload;
  const forged = { ...payload, signature };
  return [
    { name: `${name}, good`, run: () => scheme.checkSignature(payload, offer), expected: "signed", times: [] },
    { name: `${name}, forged`, run: () => scheme.checkSignature(forged, offer), expected: "other_key", times: [] },
  ];
}

function median(times) {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
}

const cases = (await Promise.all(WAYS.map(prepare))).flat();
for (let round = 0; round < ROUNDS; round++) {
  for (const { run, expected, times } of cases) {
    const started = performance.now();
    for (let at = 0; at < CHECKS; at++) if (run().kind !== expected) throw new Error("another answer");
    times.push(((performance.now() - started) / CHECKS) * 1000);
  }
}
for (const { name, times } of cases) console.log(`${name.padEnd(28)}${Math.round(median(times))} µs`);
