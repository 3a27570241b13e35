/**
 * What a seller registered with an `x402ResourceServer`, of ours or of the reference's class, as the middleware reads it.
 *
 * @module
 */
import type { Issues } from "@farebox/core/issues";
import type {
  AfterSettleHook,
  AfterVerifyHook,
  BeforeSettleHook,
  BeforeVerifyHook,
  FacilitatorClient,
  OnSettleFailureHook,
  OnVerifiedPaymentCanceledHook,
  OnVerifyFailureHook,
  ResourceServerExtension,
  SchemeNetworkServer,
} from "../types.js";

/** Schemes by network pattern and name. */
export type RegisteredSchemes = ReadonlyMap<string, ReadonlyMap<string, SchemeNetworkServer>>;

/** The hooks of a server, by the names of their lists. The lists are the server's own: what is added later counts. */
export interface RegisteredHooks {
  readonly beforeVerifyHooks: readonly BeforeVerifyHook[];
  readonly afterVerifyHooks: readonly AfterVerifyHook[];
  readonly onVerifyFailureHooks: readonly OnVerifyFailureHook[];
  readonly beforeSettleHooks: readonly BeforeSettleHook[];
  readonly afterSettleHooks: readonly AfterSettleHook[];
  readonly onSettleFailureHooks: readonly OnSettleFailureHook[];
  readonly onVerifiedPaymentCanceledHooks: readonly OnVerifiedPaymentCanceledHook[];
}

/** What a seller registered with a server. */
export interface Registrations extends RegisteredHooks {
  readonly facilitatorClients: readonly FacilitatorClient[];
  readonly registeredServerSchemes: RegisteredSchemes;
  readonly registeredExtensions: ReadonlyMap<string, ResourceServerExtension>;
  /** More options of the engine; `undefined` for a server of the reference's class. */
  readonly options: Readonly<Record<string, unknown>> | undefined;
}

/** The exact network first, then patterns in the order of their registration; only the first that matches is looked into. */
export function findScheme(
  schemes: RegisteredSchemes,
  network: string,
  scheme: string,
): SchemeNetworkServer | undefined {
  const exact = schemes.get(network);
  if (exact !== undefined) return exact.get(scheme);
  for (const [pattern, registered] of schemes) {
    if (matchesPattern(pattern, network)) return registered.get(scheme);
  }
  return undefined;
}

/** Whether a pattern such as `eip155:*` has a network. */
export function matchesPattern(pattern: string, network: string): boolean {
  const star = pattern.indexOf("*");
  if (star === -1) return pattern === network;
  const before = pattern.slice(0, star);
  const after = pattern.slice(star + 1);
  return network.length >= before.length + after.length && network.startsWith(before) && network.endsWith(after);
}

/** The options that our servers were made with. */
export const engineOptions: WeakMap<object, Readonly<Record<string, unknown>>> = new WeakMap();

const LISTS = Object.keys({
  beforeVerifyHooks: true,
  afterVerifyHooks: true,
  onVerifyFailureHooks: true,
  beforeSettleHooks: true,
  afterSettleHooks: true,
  onSettleFailureHooks: true,
  onVerifiedPaymentCanceledHooks: true,
} satisfies Record<keyof RegisteredHooks, true>);

/** 2.10 had none of these. */
const YOUNGER: readonly string[] = ["onVerifiedPaymentCanceledHooks"];

/**
 * Reads what a seller registered, by the names of the fields: the reference's classes have no methods for most of it. A field
 * that is missing is an issue. Without its hooks, a server would let requests through that they refuse.
 */
export function readResourceServer(server: unknown, path: string, issues: Issues): Registrations | undefined {
  if (typeof server !== "object" || server === null) {
    issues.add(path, "an x402ResourceServer", server);
    return undefined;
  }
  const given = server as Readonly<Record<string, unknown>>;
  const expected = "a field of x402ResourceServer of @x402/core 2.10 to 2.27; import the class from @farebox/compat";
  let isWhole = true;
  const missing = (name: string) => {
    isWhole = false;
    issues.addText(`${path}.${name}`, expected, "nothing of that kind");
  };
  const { registeredServerSchemes, registeredExtensions, facilitatorClients } = given;
  const lists: Record<string, readonly unknown[]> = {};
  for (const name of LISTS) {
    const list = given[name];
    if (Array.isArray(list)) lists[name] = list;
    else if (list === undefined && YOUNGER.includes(name)) lists[name] = [];
    else missing(name);
  }
  if (!Array.isArray(facilitatorClients)) missing("facilitatorClients");
  if (!isMap(registeredServerSchemes)) missing("registeredServerSchemes");
  if (!isMap(registeredExtensions)) missing("registeredExtensions");
  refuseOverrides(server, "onBeforeVerify", path, issues);
  const read = { ...lists, facilitatorClients, registeredServerSchemes, registeredExtensions };
  return isWhole ? ({ ...read, options: engineOptions.get(server) } as unknown as Registrations) : undefined;
}

/**
 * Refuses methods that a subclass, or the seller, has replaced: the engine takes their place. Those that register are the seller's own
 * to call.
 *
 * @param known - A method of the class. It tells the class from its subclasses.
 */
export function refuseOverrides(server: object, known: string, path: string, issues: Issues): void {
  let base: object | undefined;
  for (let each = Object.getPrototypeOf(server); each !== null; each = Object.getPrototypeOf(each)) {
    if (Object.hasOwn(each, known)) base = each;
  }
  if (base === undefined) return;
  for (const name of Object.getOwnPropertyNames(base)) {
    const own: unknown = Object.getOwnPropertyDescriptor(base, name)?.value;
    if (name === "constructor" || /^(register|on)[A-Z]|^register$/.test(name) || typeof own !== "function") continue;
    if (Reflect.get(server, name) === own) continue;
    const expected = "the method of the class: the engine takes its place, and would not call this one";
    issues.addText(`${path}.${name}`, expected, "another method");
  }
}

/** Also one of another realm. */
function isMap(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object Map]";
}

/** Reads a server that is known to be whole. */
export function registrationsOf(server: object): Registrations {
  return { ...(server as Registrations), options: engineOptions.get(server) };
}
