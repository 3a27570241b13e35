/**
 * All failures that are compared.
 *
 * @module
 */

import type { Failure } from "./failure.js";
import { ABUSES } from "./failures/abuses.js";
import { AMOUNTS } from "./failures/amounts.js";
import { ANSWERS } from "./failures/answers.js";
import { FACILITATOR_AT_BOOT } from "./failures/facilitator-at-boot.js";
import { FACILITATOR_CALLS } from "./failures/facilitator-calls.js";
import { REQUESTS } from "./failures/requests.js";

export const FAILURES: readonly Failure[] = [
  ...REQUESTS,
  ...ANSWERS,
  ...AMOUNTS,
  ...ABUSES,
  ...FACILITATOR_CALLS,
  ...FACILITATOR_AT_BOOT,
];
