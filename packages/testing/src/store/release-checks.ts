/**
 * What is asked of `release`: a payment is free to be used again, if no money moved and its owner says so.
 *
 * @module
 */
import { RELEASABLE } from "@farebox/core";
import { demandEqual, demandForgotten, demandRecord } from "./demand.js";
import { ANSWER, broughtTo, claimed, claimOf, moved, STATES } from "./sample-payments.js";
import { atOnce, type Check, type Stage } from "./stage.js";

const RACES = 100;

/** The checks of `release`. */
export const RELEASE_CHECKS: readonly Check[] = [
  { name: `release: forgets a payment that is ${RELEASABLE.join(" or ")}, and no other`, run: whereItMay },
  { name: "release: is for the owner alone", run: ownerAlone },
  { name: "release: leaves nothing to the next claim", run: nothingLeft },
  { name: "release: frees the payment for one of those who claim it at that moment", run: againstClaims },
  { name: "release: comes before settlement or not at all", run: againstSettling },
];

async function whereItMay(stage: Stage): Promise<void> {
  for (const state of STATES) {
    const record = await broughtTo(stage, state, { identity: state });
    await stage.store.release(state, "run");
    const when = `after a release from ${state}`;
    if (RELEASABLE.includes(state)) await demandForgotten(stage.store, state, when);
    else await demandRecord(stage.store, record, when);
  }
}

async function ownerAlone(stage: Stage): Promise<void> {
  const first = await broughtTo(stage, "serving");
  await stage.store.release("p", "other");
  await stage.store.release("q", "run");
  await demandRecord(stage.store, first, "after a release by another run");

  await stage.store.release("p", "run");
  const second = await claimed(stage, { owner: "next" });
  await stage.store.release("p", "run");
  await demandRecord(stage.store, second, "after a second release by the owner before");
}

async function nothingLeft(stage: Stage): Promise<void> {
  await moved(stage, await claimed(stage), { to: "serving", facilitator: "a.example", answer: ANSWER });
  await stage.store.release("p", "run");
  const expiresAtMs = stage.clock.now() + 1_000;
  const record = await claimed(stage, { binding: "GET /other", owner: "next", expiresAtMs });
  await demandRecord(stage.store, record, "after a release and another claim");
}

async function againstClaims(stage: Stage): Promise<void> {
  await claimed(stage);
  const request = claimOf(stage);
  const claims = await atOnce(stage, RACES, async (store, at) => {
    if (at !== RACES / 2) return store.claim({ ...request, owner: `run ${at}` });
    await store.release("p", "run");
    return undefined;
  });
  const winners = claims.flatMap((claim, at) => (claim?.kind === "claimed" ? [`run ${at}`] : []));
  // None is right too: all claims may have come before the release.
  demandEqual(winners.length > 1, false, "more than one claim was given");
  const [owner] = winners;
  const when = "after a release among claims";
  if (owner === undefined) await demandForgotten(stage.store, "p", when);
  else await demandRecord(stage.store, { ...request, owner, state: "claimed" }, when);
}

async function againstSettling(stage: Stage): Promise<void> {
  for (let at = 0; at < RACES; at++) {
    const identity = `p${at}`;
    const before = await broughtTo(stage, "serving", { identity });
    const settle = { identity, from: "serving", to: "settling", owner: "run" } as const;
    // Each of the two is asked first half of the time.
    const asked = await atOnce<boolean | undefined>(stage, 2, async (store, turn) => {
      if (turn === at % 2) return store.transition(settle);
      await store.release(identity, "run");
      return undefined;
    });
    const when = "after a release at the moment of settling";
    if (asked[at % 2] === true) await demandRecord(stage.store, { ...before, state: "settling" }, when);
    else await demandForgotten(stage.store, identity, when);
  }
}
