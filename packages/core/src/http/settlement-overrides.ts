/**
 * The response header `Settlement-Overrides`, by which the reference's handlers say how much is charged. It is not a header of
 * the protocol, and it never leaves this server.
 *
 * @module
 */

/** Whether a header is that one. */
export function isSettlementOverrides(name: string): boolean {
  return name.toLowerCase() === "settlement-overrides";
}
