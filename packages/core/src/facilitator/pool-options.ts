/**
 * What a pool is made of, checked once.
 *
 * @module
 */
import { ConfigError, type ConfigIssue, describeValue } from "../errors.js";
import { type Logger, neverThrowing, SILENT } from "../events/logger.js";
import { isNetwork, type NetworkPattern } from "../network/caip2.js";
import { type Clock, SYSTEM_CLOCK } from "./clock.js";
import { DEFAULT_DEADLINES, type Deadlines, withDeadlines } from "./deadlines.js";
import type { Facilitator } from "./facilitator.js";
import type { FacilitatorHealth } from "./facilitator-status.js";
import { createPoolMember, type PoolMember } from "./pool-member.js";

/** One facilitator of a pool. */
export interface FacilitatorEntry {
  readonly facilitator: Facilitator;
  /** For logs, health and records; unique in its pool, e.g. the host of its URL. Never a secret. */
  readonly name: string;
  /** Networks it is asked about, or patterns such as `eip155:*`. Default: all. */
  readonly networks?: readonly NetworkPattern[];
}

/** How a pool goes about its work. */
export interface PoolOptions {
  /** Of each call to each facilitator. */
  readonly deadlines?: Deadlines;
  /** Told of `facilitator_up` and `facilitator_down`. Default: nobody. */
  readonly logger?: Logger;
  /** Told whenever a facilitator's state changes. What it throws is ignored. */
  readonly onChange?: (health: FacilitatorHealth) => void;
  /** Parts of the clock to replace, for tests. */
  readonly clock?: Partial<Clock>;
}

/** What a pool works with. */
export interface PoolParts {
  readonly members: readonly PoolMember[];
  readonly clock: Clock;
}

/**
 * Checks the entries and creates the members.
 *
 * @param onOffersChanged - Called when what can be offered may have changed.
 * @throws ConfigError with every issue at once.
 */
export function createMembers(
  entries: readonly FacilitatorEntry[],
  options: PoolOptions,
  onOffersChanged: () => void,
): PoolParts {
  checkEntries(entries);
  const { deadlines = DEFAULT_DEADLINES, onChange = () => {} } = options;
  const clock: Clock = { ...SYSTEM_CLOCK, ...options.clock };
  const logger = neverThrowing(options.logger ?? SILENT);

  const createMember = ({ name, facilitator, networks }: FacilitatorEntry): PoolMember => {
    const member: PoolMember = createPoolMember({
      name,
      facilitator: withDeadlines(facilitator, deadlines),
      networks: networks && [...networks],
      clock,
      onChange(change) {
        onOffersChanged();
        if (change === "state") announce(member.health(), logger, onChange);
      },
    });
    return member;
  };
  return { members: entries.map(createMember), clock };
}

function checkEntries(entries: readonly FacilitatorEntry[]): void {
  const issues: ConfigIssue[] = [];
  const add = (path: string, expected: string, received: unknown) => {
    issues.push({ path, expected, received: describeValue(received) });
  };
  if (entries.length === 0) add("facilitators", "at least one", entries);
  for (const [at, { name, networks }] of entries.entries()) {
    const path = `facilitators[${at}]`;
    const isTaken = entries.slice(0, at).some((entry) => entry.name === name);
    if (name === "" || isTaken) add(`${path}.name`, "a name that no other has", name);
    const isGood = networks === undefined || (networks.length > 0 && networks.every(isPattern));
    if (!isGood) add(`${path}.networks`, 'CAIP-2 networks or "<namespace>:*", at least one', networks);
  }
  if (issues.length > 0) throw new ConfigError(issues);
}

function isPattern(pattern: string): boolean {
  return isNetwork(pattern.replace(/:\*$/, ":0"));
}

/** What is told is told after the fact: nobody who listens can change what becomes of a payment. */
function announce(health: FacilitatorHealth, logger: Logger, onChange: (health: FacilitatorHealth) => void): void {
  const { name, state, lastErrorCode } = health;
  if (state === "up") logger.info("facilitator_up", { facilitator: name });
  if (state === "down") logger.error("facilitator_down", { facilitator: name, code: lastErrorCode });
  try {
    onChange(health);
  } catch {
    // The state is what it is, whether or not it could be told.
  }
}
