/**
 * Sellers who make the middleware anew for each request, because their prices are in a database: equal ones are one, and nothing
 * piles up of the others.
 *
 * @module
 */
import type { Payments } from "@farebox/express";
import { identityOf } from "../classes/facilitator-client.js";
import { isStock, moneyParsersOf } from "../classes/schemes.js";
import type { FacilitatorClient, SchemeRegistration } from "../types.js";
import type { Registrations } from "./registrations.js";

/** So many of each kind are remembered. The oldest are forgotten. */
const MAX_REMEMBERED = 64;

/** What was made of equal things. */
class Remembered<T> {
  readonly #byText = new Map<string, T>();

  get(text: string): T | undefined {
    const known = this.#byText.get(text);
    if (known !== undefined) this.set(text, known);
    return known;
  }

  set(text: string, made: T): void {
    this.#byText.delete(text);
    this.#byText.set(text, made);
    const [oldest] = this.#byText.size > MAX_REMEMBERED ? this.#byText.keys() : [];
    if (oldest !== undefined) this.#byText.delete(oldest);
  }
}

/** Middleware by server, and by what it was made of. */
export class RepeatedTables<T> {
  readonly #byOwner = new WeakMap<object, Remembered<T>>();

  /** @returns `undefined` if equal tables cannot be told from others. */
  find(
    owner: object,
    server: Registrations,
    given: unknown,
  ): { known: T | undefined; keep(made: T): void } | undefined {
    const { registeredServerSchemes, registeredExtensions, facilitatorClients } = server;
    const schemes = [...registeredServerSchemes].map(([network, byName]) => [network, ...byName.values()]);
    const text = textOf([given, schemes, [...registeredExtensions.values()], facilitatorClients]);
    if (text === undefined) return undefined;
    const remembered = this.#byOwner.get(owner) ?? new Remembered<T>();
    this.#byOwner.set(owner, remembered);
    return { known: remembered.get(text), keep: (made) => remembered.set(text, made) };
  }
}

/** Servers that were made of a facilitator and schemes, and how often. */
const servers = new Remembered<{ readonly server: object; times: number }>();

/** A seller may still add something to the first servers, as some do at start. */
const FIRST = 8;

/** A server for facilitators and schemes: from the ninth equal one on, it is that one again. */
export function repeatedServer<S extends object>(
  clients: FacilitatorClient | FacilitatorClient[] | undefined,
  schemes: readonly SchemeRegistration[],
  make: () => S,
): S {
  const parts = schemes.map(({ network, server }) => [
    network,
    isStock(server, network) && moneyParsersOf(server).length === 0 ? server.scheme : server,
  ]);
  const text = textOf([[clients ?? []].flat().map((client) => identityOf(client)), parts]);
  if (text === undefined) return make();
  const known = servers.get(text);
  if (known !== undefined && known.times >= FIRST) return known.server as S;
  const server = make();
  servers.set(text, { server, times: (known?.times ?? 0) + 1 });
  return server;
}

const made: Payments[] = [];

/**
 * Notes an engine. One that has only tables of past requests is closed when many came after it: nothing else would end its background
 * work.
 */
export function noteEngine(payments: Payments): void {
  made.push(payments);
  const oldest = made.length > MAX_REMEMBERED ? made.shift() : undefined;
  if (oldest !== undefined && oldest.report().routes.length === 0) void oldest.close();
}

const ids = new WeakMap<object, number>();
let count = 0;

/** Data as it is written, anything else by its identity. `undefined`: it has no text. */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_name, one: unknown) => {
      if (typeof one === "bigint") return `${one}n`;
      return isReference(one) ? `\u0000${idOf(one)}` : one;
    });
  } catch {
    return undefined;
  }
}

function isReference(value: unknown): value is object {
  if (typeof value === "function") return true;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}

function idOf(value: object): number {
  const id = ids.get(value) ?? ++count;
  ids.set(value, id);
  return id;
}
