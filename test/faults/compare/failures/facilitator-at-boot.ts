/**
 * Facilitators that are not there, or not what they were, when the seller starts.
 *
 * @module
 */
import type { Faults } from "@farebox/testing";
import type { Failure, Seen } from "../failure.js";
import type { Scene } from "../scene.js";

const SEPOLIA = "eip155:84532";
const BASE = "eip155:8453";

export const FACILITATOR_AT_BOOT: readonly Failure[] = [
  {
    failure: "facilitator down at boot; back before the last purchase",
    isDownAtBoot: true,
    expected: { answers: ["free route 200", "unpaid 402", "bought 503", "bought 200"], runs: 1, debits: 1 },
    act: async (scene) => {
      const seen = [...(await look(scene)).answers];
      const { status, payment } = await scene.buy();
      await scene.facilitatorIsBack();
      const again = await scene.buy(payment === undefined ? {} : { payment });
      return { answers: [...seen, `bought ${status}`, `bought ${again.status}`] };
    },
  },
  {
    failure: "facilitator no longer supports one of two networks",
    plan: { networks: [BASE, SEPOLIA] },
    expected: { answers: ["free route 200", "unpaid 402", "bought 200"], runs: 1, debits: 1 },
    act: async (scene) => {
      await scene.called("supported");
      return lookAndBuy(scene);
    },
  },
  {
    failure: "facilitator no longer supports the only network",
    plant: dropEverything,
    expected: { answers: ["free route 200", "unpaid 503"], runs: 0, debits: 0 },
    act: async (scene) => {
      await scene.called("supported");
      return look(scene);
    },
  },
  {
    failure: "`/supported` is never answered",
    plant: (faults) => faults.always("supported", { kind: "hold" }),
    expected: { answers: ["free route 200", "unpaid 402", "bought 200"], runs: 1, debits: 1 },
    act: lookAndBuy,
  },
];

async function look(scene: Scene): Promise<Seen> {
  const first = await scene.ask({ path: "/free" });
  const unpaid = await scene.ask();
  return { answers: [`free route ${first.status}`, `unpaid ${unpaid.status}`] };
}

async function lookAndBuy(scene: Scene): Promise<Seen> {
  const { answers } = await look(scene);
  const { status } = await scene.buy();
  return { answers: [...answers, `bought ${status}`] };
}

function dropEverything(faults: Faults): void {
  faults.always("supported", { kind: "rewrite", rewrite: (answer) => ({ ...answer, kinds: [] }) });
}
