// Sells to itself, one request after another. With `--trace-gc-nvp` V8 says what it keeps of them, from `warm` on.
import { once } from "node:events";
import { Agent, request } from "node:http";
import { paymentMiddleware } from "@farebox/express";
import express from "express";

const REQUESTS = Number(process.argv[2]);
const NETWORK = "eip155:84532";

const facilitator = {
  verify: async ({ paymentPayload: { payload } }) => ({ isValid: true, payer: payload.authorization.from }),
  settle: async ({ paymentPayload: { payload }, paymentRequirements: { network, amount } }) => {
    return { success: true, transaction: `0x${"5e".repeat(32)}`, network, amount, payer: payload.authorization.from };
  },
  supported: async () => ({
    kinds: [{ x402Version: 2, scheme: "exact", network: NETWORK }],
    extensions: [],
    signers: {},
  }),
};

const price = { scheme: "exact", price: "$0.001", network: NETWORK, payTo: `0x${"11".repeat(20)}` };
// Node takes the syntax only with a flag, and other tools never.
const hasFastProperties = new Function("object", "return %HasFastProperties(object)");
const fast = new Set();
let fastBefore = 0;

const silent = () => {};
const logger = { info: silent, warn: silent, error: silent };
const app = express();
app.use((req, res, next) => {
  if (hasFastProperties(req) || hasFastProperties(res)) fastBefore++;
  next();
});
app.use(paymentMiddleware({ "GET /paid": { accepts: price } }, { facilitator, logger }));
app.get(["/paid", "/free"], (req, res) => {
  for (const object of [req, res]) if (hasFastProperties(object)) fast.add(req.path);
  res.json({ isPaid: req.payment !== undefined });
});

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const challenge = await ask("/paid");
const { accepts, resource } = JSON.parse(Buffer.from(challenge.headers["payment-required"], "base64").toString());
const payAgain = createPayer(accepts[0]);
await ask("/free");
for (let count = 0; count < REQUESTS; count++) await payAgain();
console.log("warm");
for (let count = 0; count < REQUESTS; count++) await payAgain();
console.log(JSON.stringify({ fast: [...fast], fastBefore }));
process.exit();

function createPayer(accepted) {
  const validBefore = String(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds);
  let count = 0;
  return async () => {
    const nonce = `0x${(++count).toString(16).padStart(64, "0")}`;
    const terms = { to: accepted.payTo, value: accepted.amount, validAfter: "0", validBefore };
    const authorization = { from: `0x${"22".repeat(20)}`, ...terms, nonce };
    const payload = { signature: `0x${"33".repeat(64)}1b`, authorization };
    const payment = { x402Version: 2, payload, resource, accepted };
    const answer = await ask("/paid", Buffer.from(JSON.stringify(payment)).toString("base64"));
    if (answer.statusCode !== 200) throw new Error(`paid, and got ${answer.statusCode}`);
  };
}

async function ask(path, payment) {
  const headers = payment === undefined ? {} : { "PAYMENT-SIGNATURE": payment };
  const asking = request({ port: server.address().port, path, agent, headers }).end();
  const [answer] = await once(asking, "response");
  answer.resume();
  await once(answer, "end");
  return answer;
}
