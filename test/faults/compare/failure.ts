/**
 * What a failure of the comparison consists of: what is sold, what goes wrong, and the required outcome.
 *
 * @module
 */
import type { Faults } from "@farebox/testing";
import type { GoodsName } from "./goods.js";
import type { Scene } from "./scene.js";

/** Both libraries, by the name that the comparison gives them. */
export type Library = "reference" | "farebox";

/** What is sold, and how. */
export interface SellerPlan {
  readonly goods: GoodsName;
  /** The key of the table. */
  readonly key: string;
  readonly scheme: "exact" | "upto";
  /** Several: one each time the seller is asked for a price, the last one from then on. */
  readonly price: `$${number}` | readonly `$${number}`[];
  readonly networks: readonly `eip155:${number}`[];
  /** Where the table is mounted. */
  readonly mount: string;
  /** Where the goods are. */
  readonly path: string;
  /** Whether `cors` stands behind the table, and in front of the goods. */
  readonly cors: boolean;
  /** How long the library may wait for its facilitator. Default: as long as it wants. */
  readonly patienceMs: number | undefined;
  /** Whether Farebox meters the route. The reference does not know this. */
  readonly isMetered: boolean;
  /** Whether a second process of the seller runs. Farebox gets a store for both; the reference has none. */
  readonly hasSecondProcess: boolean;
  /** Whether the seller has a second facilitator behind the first, for the same money. */
  readonly hasSecondFacilitator: boolean;
}

/** What is sold unless a failure says otherwise. */
export const USUAL: SellerPlan = {
  goods: "plain",
  key: "GET /goods",
  scheme: "exact",
  price: "$0.01",
  networks: ["eip155:84532"],
  mount: "/",
  path: "/goods",
  cors: false,
  patienceMs: undefined,
  isMetered: false,
  hasSecondProcess: false,
  hasSecondFacilitator: false,
};

/** What the client saw: statuses in order, or what happened in place of one. */
export interface Seen {
  readonly answers: readonly (number | string)[];
  /** What else matters, as it is said in the document. */
  readonly notes?: readonly string[];
}

/** The outcome of a failure. */
export interface Facts extends Seen {
  /** How often the handler ran. */
  readonly runs: number;
  /** How often money moved. */
  readonly debits: number;
}

/** A failure, and what is done with each library. */
export interface Failure {
  /** What goes wrong, and what the client does, as it is said in the document. Unique. */
  readonly failure: string;
  readonly expected: Facts;
  readonly plan?: Partial<SellerPlan>;
  /** Whether the facilitator is down when the seller starts. */
  readonly isDownAtBoot?: boolean;
  /** What goes wrong with the facilitator from the start. */
  readonly plant?: (faults: Faults) => unknown;
  readonly act: (scene: Scene) => Promise<Seen>;
}

/** Describes the outcome of a failure. */
export function describeFacts({ answers, notes = [], runs, debits }: Facts): string {
  const ran = runs === 0 ? [] : [`handler ran ${runs === 1 ? "once" : `${runs} times`}`];
  const moved =
    runs === 0 && debits === 0 ? [] : [debits === 0 ? "no debit" : `${debits} debit${debits === 1 ? "" : "s"}`];
  return [answers.join(", then "), ...notes, ...ran, ...moved].join(", ");
}
