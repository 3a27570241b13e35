/**
 * Requests that are easily read in a wrong way.
 *
 * @module
 */
import type { Failure } from "../failure.js";
import { COPIES } from "../goods.js";
import type { Reply, Scene } from "../scene.js";

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

/** What a TLS proxy in front of the seller sends on. */
const FORWARDED = { Host: "internal:8080", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "api.example.com" };

const PREFLIGHT = { Origin: "https://shop.example", "Access-Control-Request-Method": "GET" };

export const REQUESTS: readonly Failure[] = [
  {
    failure: "`HEAD` of a priced `GET`, unpaid",
    expected: { answers: [402], runs: 0, debits: 0 },
    act: async (scene) => ({ answers: [(await scene.ask({ method: "HEAD" })).status] }),
  },
  {
    failure: "table mounted at `/api`, key `GET /api/goods`, unpaid",
    plan: { mount: "/api", key: "GET /api/goods", path: "/api/goods" },
    expected: { answers: [402], runs: 0, debits: 0 },
    act: async (scene) => ({ answers: [(await scene.ask()).status] }),
  },
  {
    failure: "payment sent again after its answer was delivered",
    expected: { answers: [200, 402], runs: 1, debits: 1 },
    act: async (scene) => {
      const payment = await scene.sign();
      const [first, again] = [await scene.buy({ payment }), await scene.buy({ payment })];
      return { answers: [first.status, again.status] };
    },
  },
  {
    failure: `${COPIES} copies of a payment at once`,
    plan: { goods: "once all copies are in" },
    expected: { answers: [`${COPIES} × 200`], runs: 1, debits: 1 },
    act: async (scene) => {
      const payment = await scene.sign();
      const replies = await Promise.all(Array.from({ length: COPIES }, () => scene.buy({ payment })));
      return { answers: [tally(replies)] };
    },
  },
  {
    failure: "one payment at two processes of the seller at once",
    plan: { goods: "slow", hasSecondProcess: true },
    expected: { answers: ["2 × 200"], runs: 1, debits: 1 },
    act: async (scene) => {
      const payment = await scene.sign();
      // Both processes know the facilitator by then.
      await scene.buyAtSecond({ select: () => undefined });
      return { answers: [tally(await Promise.all([scene.buy({ payment }), scene.buyAtSecond({ payment })]))] };
    },
  },
  {
    failure: "`PAYMENT-SIGNATURE` is not base64 of JSON",
    expected: { answers: [400], notes: ["unlike no payment"], runs: 0, debits: 0 },
    act: async (scene) => isToldApart(scene, { "PAYMENT-SIGNATURE": "%%%" }),
  },
  {
    failure: "`X-PAYMENT` of x402 v1",
    expected: { answers: [402], notes: ["challenge in the body too"], runs: 0, debits: 0 },
    act: async (scene) => {
      const payment = base64({ x402Version: 1, scheme: "exact", network: "base-sepolia", payload: {} });
      const { status, text } = await scene.ask({ headers: { "X-PAYMENT": payment } });
      return { answers: [status], notes: [text.includes('"accepts"') ? "challenge in the body too" : `body ${text}`] };
    },
  },
  {
    failure: "TLS proxy in front, no `trust proxy`",
    expected: { answers: [402], notes: ["resource http://internal:8080/goods", "said in the log"], runs: 0, debits: 0 },
    act: async (scene) => {
      const { status, challenge } = await scene.ask({ headers: FORWARDED });
      const isSaid = /proxy|forwarded/i.test(scene.seller.log());
      return {
        answers: [status],
        notes: [`resource ${challenge?.resource.url}`, `${isSaid ? "" : "not "}said in the log`],
      };
    },
  },
  {
    failure: "script of another origin reads the challenge",
    expected: { answers: [402], notes: ["header exposed"], runs: 0, debits: 0 },
    act: async (scene) => {
      const { status, headers } = await scene.ask({ headers: { Origin: "https://shop.example" } });
      const isExposed = /PAYMENT-REQUIRED/i.test(headers["access-control-expose-headers"] ?? "");
      return { answers: [status], notes: [`header ${isExposed ? "" : "not "}exposed`] };
    },
  },
  {
    failure: "preflight, key `/goods`, `cors` behind the table",
    plan: { key: "/goods", cors: true },
    expected: { answers: [204], runs: 0, debits: 0 },
    act: async (scene) => ({ answers: [(await scene.ask({ method: "OPTIONS", headers: PREFLIGHT })).status] }),
  },
  {
    failure: "`?b=2&a=1` and `?a=1&b=2`, unpaid",
    expected: { answers: [402, 402], notes: ["one resource"], runs: 0, debits: 0 },
    act: async (scene) => {
      const { pathname } = new URL(scene.url);
      const asked = await Promise.all(["?b=2&a=1", "?a=1&b=2"].map((query) => scene.ask({ path: pathname + query })));
      const { size } = new Set(asked.map(({ challenge }) => challenge?.resource.url));
      return { answers: asked.map(({ status }) => status), notes: [size === 1 ? "one resource" : `${size} resources`] };
    },
  },
  {
    failure: "price `$0.0000001` of an asset with six decimals",
    plan: { price: "$0.0000001" },
    expected: { answers: ["did not start"], runs: 0, debits: 0 },
    act: async (scene) => {
      const { status, challenge } = await scene.ask();
      return { answers: [status], notes: [`asks for ${challenge?.accepts[0]?.amount}`] };
    },
  },
];

/** Whether an answer says more than that nothing was paid. */
async function isToldApart(scene: Scene, headers: Record<string, string>) {
  const said = ({ status, challenge, text }: Reply) => JSON.stringify([status, challenge?.error, text]);
  const [unpaid, answer] = [await scene.ask(), await scene.ask({ headers })];
  return {
    answers: [answer.status],
    notes: [said(answer) === said(unpaid) ? "as if nothing was paid" : "unlike no payment"],
  };
}

/** `200, 9 × 402`. */
function tally(replies: readonly Reply[]): string {
  const statuses = replies.map(({ status }) => status).toSorted();
  return [...new Set(statuses)]
    .map((status) => {
      const count = statuses.filter((other) => other === status).length;
      return count === 1 ? `${status}` : `${count} × ${status}`;
    })
    .join(", ");
}
