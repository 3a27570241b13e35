// Sells once by hand, with a facilitator in this process, and then does nothing more. It closes nothing: it ends when nothing keeps it alive.
import { encodePaymentSignature } from "@farebox/core/protocol";
import { createPayments } from "@farebox/express";
import { createPayer } from "@farebox/testing";

const { silentAt, deadlines } = JSON.parse(process.argv[2]);
const network = "eip155:84532";
const payer = createPayer();
const respond = async (operation, response) => (operation === silentAt ? new Promise(() => {}) : response);

const payments = createPayments({
  facilitator: {
    supported: () =>
      respond("supported", { kinds: [{ x402Version: 2, scheme: "exact", network }], extensions: [], signers: {} }),
    verify: () => respond("verify", { isValid: true, payer: payer.address }),
    settle: ({ paymentRequirements: { amount } }) => {
      const transaction = `0x${"1".padStart(64, "0")}`;
      return respond("settle", { success: true, payer: payer.address, transaction, network, amount });
    },
  },
  logger: { info() {}, warn() {}, error() {} },
  deadlines,
});
const sale = payments.byHand({
  accepts: { price: "$0.01", network, payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
  resource: "https://api.example.com/weather",
});
const { document } = await sale.challenge();
const payment = await payer.signExact(document.accepts[0], { challenge: document });
const verification = await sale.verify(encodePaymentSignature(payment));
console.log(verification.kind);
if (verification.kind === "verified") console.log((await verification.payment.settle()).kind);
