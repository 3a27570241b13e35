/**
 * The files that `farebox init` writes.
 *
 * @module
 */

/** What the files depend on. */
export interface Project {
  readonly name: string;
  readonly language: "js" | "ts";
  /** The seller's address; empty if it is not known yet. */
  readonly payTo: string;
}

/** The files of a project, by their names. */
export function filesOf({ name, language, payTo }: Project): Readonly<Record<string, string>> {
  return {
    "package.json": packageOf(name, language),
    [`app.${language}`]: language === "ts" ? TS_APP : JS_APP,
    [`server.${language}`]: serverOf(language),
    [`app.test.${language}`]: testOf(language),
    ".env": `# Your EVM address: it receives the money.\nPAY_TO=${payTo}\n# Who verifies and settles payments. This one is for test networks.\nFACILITATOR_URL=https://x402.org/facilitator\n`,
    ".gitignore": "node_modules\n.env\n",
  };
}

function packageOf(name: string, language: Project["language"]): string {
  const manifest = {
    name,
    private: true,
    type: "module",
    engines: { node: language === "ts" ? ">=22.18.0" : ">=20.19.0" },
    scripts: {
      start: `node --env-file=.env server.${language}`,
      test: "node --test",
    },
    dependencies: { "@farebox/express": "^0.1.0", express: "^5.1.0" },
    devDependencies: {
      "@farebox/testing": "^0.1.0",
      ...(language === "ts" ? { "@types/express": "^5.0.0", "@types/node": "^22.18.0", typescript: "^5.9.0" } : {}),
    },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

const APP = `
  const payments = createPayments({
    facilitator,
    payTo: { "eip155:*": payTo },
    networks: ["eip155:84532"], // Base Sepolia, a test network
  });
  const app = express();
  app.use(payments.routes({ "GET /weather/:city": { price: "$0.001", description: "The weather, now" } }));
  app.get("/weather/:city", (req, res) => {
    res.json({ city: req.params.city, weather: "sunny", paidBy: req.payment?.payer });
  });
  return { app, payments };
}
`;

const JS_APP = `import { createPayments } from "@farebox/express";
import express from "express";

/** Makes the app. The facilitator and the address that gets the money are parameters, so that a test can pass its own. */
export function createApp({ facilitator, payTo }) {${APP.trimEnd()}
`;

const TS_APP = `import { createPayments, type Payments, type PaymentsOptions } from "@farebox/express";
import express, { type Express } from "express";

interface AppOptions {
  readonly facilitator: PaymentsOptions["facilitator"];
  readonly payTo: string;
}

/** Makes the app. The facilitator and the address that gets the money are parameters, so that a test can pass its own. */
export function createApp({ facilitator, payTo }: AppOptions): { readonly app: Express; readonly payments: Payments } {${APP.trimEnd()}
`;

function serverOf(language: Project["language"]): string {
  return `import { createApp } from "./app.${language}";

const { PAY_TO: payTo = "", FACILITATOR_URL: facilitator = "", PORT: port = "3000" } = process.env;
if (payTo === "") throw new Error("Write your address to .env: PAY_TO=0x…");

// Farebox checks the prices against the routes of the app, so they cannot disagree.
export const { app, payments } = createApp({ facilitator, payTo });
await payments.ready(app);
app.listen(Number(port), () => console.log(\`http://localhost:\${port}/weather/paris\`));
`;
}

function testOf(language: Project["language"]): string {
  return `import assert from "node:assert/strict";
import { test } from "node:test";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { createApp } from "./app.${language}";

const payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"; // of tests only

test("a request without a payment gets the price", async () => {
  const { app } = createApp({ facilitator: createTestFacilitator(), payTo });
  const { status, challenge } = await pay(app, { path: "/weather/paris" });
  assert.equal(status, 402);
  assert.equal(challenge?.accepts[0]?.amount, "1000"); // $0.001 of USDC, which has 6 decimals
});

test("a payment buys the weather, and the money arrives", async () => {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n); // 1 USDC
  const { app } = createApp({ facilitator, payTo });
  const { status, json } = await pay(app, { path: "/weather/paris", payer });
  assert.equal(status, 200);
  assert.deepEqual(json(), { city: "paris", weather: "sunny", paidBy: payer.address });
  assert.equal(facilitator.ledger.balanceOf(payTo), 1_000n);
});
`;
}
