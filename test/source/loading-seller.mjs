/**
 * A seller who tells which files of Farebox's it has loaded, stage by stage, as JSON: below `packages/`, sorted.
 *
 * @module
 */
import { once } from "node:events";
import { Session } from "node:inspector";

const loaded = new Set();
const session = new Session();
session.connect();
session.on("Debugger.scriptParsed", ({ params: { url } }) => {
  const [, file] = /\/packages\/(\w+\/dist\/.*)$/.exec(url) ?? [];
  if (file !== undefined) loaded.add(file);
});
session.post("Debugger.enable");
const stages = {};
const end = (stage) => {
  stages[stage] = [...loaded].sort();
};

const { createPayments } = await import("@farebox/express");
end("imported");

const [{ default: express }, { wrapFetchWithPaymentFromConfig }, { ExactEvmScheme }, { privateKeyToAccount }] =
  await Promise.all(["express", "@x402/fetch", "@x402/evm", "viem/accounts"].map((name) => import(name)));
const account = privateKeyToAccount(`0x${"1".repeat(64)}`);
const network = "eip155:84532";
const facilitator = {
  supported: async () => ({ kinds: [{ x402Version: 2, scheme: "exact", network }], extensions: [], signers: {} }),
  verify: async () => ({ isValid: true, payer: account.address }),
  settle: async ({ paymentRequirements: { amount } }) => ({
    success: true,
    payer: account.address,
    transaction: `0x${"a".repeat(64)}`,
    network,
    amount,
  }),
};
const payments = createPayments({
  facilitator,
  payTo: { "eip155:*": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
  networks: [network],
  logger: { info() {}, warn() {}, error() {} },
});
const app = express();
app.use(payments.routes({ "GET /report": { price: "$0.01" } }));
app.get("/report", (_req, res) => res.send("sold"));
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}/report`;
const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network, client: new ExactEvmScheme(account) }] });
const statuses = [await fetch(url), await pay(url)].map(({ status }) => status);
end(`answered ${statuses}`);

for await (const { amount } of payments.ledger.entries()) end(`read ${amount}`);

const measured = createPayments({ facilitator, logger: { info() {}, warn() {}, error() {} }, metrics: true });
const [, inFlight] = /^farebox_in_flight (.*)$/m.exec(measured.metrics()) ?? [];
end(`measured ${inFlight}`);

await measured.close();
await payments.close();
server.close();
server.closeAllConnections();
console.log(JSON.stringify(stages));
