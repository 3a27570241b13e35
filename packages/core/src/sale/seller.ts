/**
 * What the sales of one seller share. engine.ts puts it together.
 *
 * @module
 */
import type { FacilitatorPool } from "../facilitator/pool.js";
import type { StartTimer } from "../options.js";
import type { PublicUrlSettings } from "../pricing/resource.js";
import type { Deadlines } from "../steps/deadline.js";
import type { Draining } from "../steps/draining.js";
import type { OwnBodies } from "../steps/own-bodies.js";
import type { Pages } from "../steps/pages.js";
import type { Runs } from "../steps/runs.js";
import type { Leases } from "../store/leases.js";
import type { OpenStore } from "../store/open-store.js";
import type { Replay } from "./again.js";
import type { SignatureChecks } from "./check-payment.js";
import type { InFlight } from "./in-flight.js";
import type { PaymentDeps } from "./payment.js";
import type { SettledRuns } from "./settled-runs.js";

/** All that the sales of one seller share. */
export interface Seller extends PaymentDeps {
  readonly publicUrls: PublicUrlSettings;
  /** How long a duplicate waits for the first request. */
  readonly copyWaitMs: number;
  /** Whether clients get what facilitators say about listings. */
  readonly relayExtensionResponses: boolean;
  readonly signatures: SignatureChecks;
  readonly facilitator: Pick<FacilitatorPool, "ready" | "verify" | "admit">;
  readonly openStore: Pick<OpenStore, "canAsk" | "open">;
  /** `undefined`: the store does not renew leases. */
  readonly leases: Pick<Leases, "fromNow" | "hold" | "drop" | "mayBeLost" | "isLost"> | undefined;
  readonly inFlight: InFlight;
  readonly draining: Pick<Draining, "isRefusing">;
  readonly runs: Runs;
  readonly deadlines: Deadlines;
  /** For bodies that are read before the claim. */
  readonly timer: StartTimer;
  readonly settledRuns: SettledRuns;
  readonly replay: Replay;
  readonly bodies: OwnBodies;
  readonly pages: Pages;
}
