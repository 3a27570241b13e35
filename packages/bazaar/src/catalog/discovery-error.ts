/**
 * A catalog that could not be read.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";

/**
 * Why a call to a catalog yielded nothing. `unreachable`: no connection, or it broke off. `timeout`: it took too long.
 * `redirect`: it leads elsewhere, where nothing is sent. `status`: the catalog refused. `response`: what it said is no page
 * of a catalog, or too long.
 */
export type DiscoveryProblem = "unreachable" | "timeout" | "redirect" | "status" | "response";

const MESSAGES: Readonly<Record<DiscoveryProblem, string>> = {
  unreachable: "the catalog cannot be reached",
  timeout: "the catalog did not answer in time",
  redirect: "the catalog leads elsewhere",
  status: "the catalog refused",
  response: "the answer is no page of a catalog",
};

/** A call to a catalog that yielded no page. Says nothing of what the catalog wrote, or of headers that were sent. */
export class DiscoveryError extends FareboxError {
  override readonly name = "DiscoveryError";
  override readonly code = "ERR_FAREBOX_DISCOVERY";
  readonly problem: DiscoveryProblem;
  /** The HTTP status, where that is the problem. */
  readonly status: number | undefined;

  constructor(problem: DiscoveryProblem, detail: { readonly status?: number; readonly cause?: unknown } = {}) {
    const { status, cause } = detail;
    super(`${MESSAGES[problem]}${status === undefined ? "" : ` (${status})`}`, cause === undefined ? {} : { cause });
    this.problem = problem;
    this.status = status;
  }
}
