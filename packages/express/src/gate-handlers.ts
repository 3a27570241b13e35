/**
 * Which handlers are ours. Routers are looked through for them, so that their routes can be told from others'.
 *
 * @module
 */

const gates = new WeakMap<object, object>();

/** Notes that a handler stands for a gate. */
export function markHandler(handler: object, gate: object): void {
  gates.set(handler, gate);
}

/** The gate that a handler stands for, if it is one of ours. */
export function gateOf(handler: object): object | undefined {
  return gates.get(handler);
}
