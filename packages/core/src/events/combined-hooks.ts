/**
 * The hooks of one route: the seller's, and after them those of the extensions that the route declares.
 *
 * @see `docs/guides/write-an-extension.md`
 * @module
 */
import type { PaymentHooks } from "./hooks.js";
import { describeThrown, type Logger } from "./logger.js";

/** The hooks of one extension, checked. */
export interface ExtensionHooks {
  /** Identifier of the extension. */
  readonly key: string;
  readonly hooks: PaymentHooks;
}

type AnyHook = (...args: readonly unknown[]) => unknown;

/** Hooks that are asked. All others are told. */
const ASKED: readonly string[] = [
  "onRequest",
  "beforeVerify",
  "afterVerify",
  "beforeSettle",
] satisfies readonly (keyof PaymentHooks)[];

/**
 * Makes one set of hooks of several. Each is asked in turn, the seller's first, until one decides. All are told at once, and waited for
 * together. What an extension's hook throws counts as thrown here, and is logged with the extension.
 */
export function combineHooks(
  sellers: PaymentHooks,
  ofExtensions: readonly ExtensionHooks[],
  { route, logger }: { readonly route: string; readonly logger: Logger },
): PaymentHooks {
  const all = [{ hooks: sellers }, ...ofExtensions].flatMap(({ hooks, ...of }) =>
    Object.entries(hooks).map(([name, hook]: [string, AnyHook]) => {
      const key = "key" in of ? of.key : undefined;
      if (key === undefined) return { name, hook };
      const failed = (error: unknown) =>
        logger.error("extension_failed", { route, extension: key, about: name, ...describeThrown(error) });
      return { name, hook: logged(hook, failed) };
    }),
  );
  const names = new Set(all.map(({ name }) => name));
  const combined = [...names].map((name) => {
    const [first, ...others] = all.filter((one) => one.name === name).map(({ hook }) => hook);
    if (first === undefined || others.length === 0) return [name, first] as const;
    return [name, ASKED.includes(name) ? askInTurn(name, [first, ...others]) : tellAll([first, ...others])] as const;
  });
  return Object.freeze(Object.fromEntries(combined)) as PaymentHooks;
}

function logged(hook: AnyHook, failed: (error: unknown) => void): AnyHook {
  return async (...args) => {
    try {
      return await hook(...args);
    } catch (error) {
      failed(error);
      throw error;
    }
  };
}

/** The first verdict counts, except that a payment which one of them favours may still be denied by the next. */
function askInTurn(name: string, hooks: readonly AnyHook[]): AnyHook {
  return async (...args) => {
    let favour: unknown;
    for (const hook of hooks) {
      const said = await hook(...args);
      if (said === undefined) continue;
      if (name === "onRequest" || !isFavour(said)) return said;
      favour ??= said;
    }
    return favour;
  };
}

/** Whether it lets a payment go on by a shorter way. Anything that is not a verdict denies. */
function isFavour(said: unknown): boolean {
  if (typeof said !== "object" || said === null) return false;
  return ("verified" in said || "respond" in said) && !("deny" in said);
}

function tellAll(hooks: readonly AnyHook[]): AnyHook {
  return async (...args) => {
    const told = await Promise.allSettled(hooks.map(async (hook) => hook(...args)));
    // Only `onHandlerFailed` may say something: one of them gives the money back.
    const said = told.find((each) => each.status === "fulfilled" && each.value !== undefined);
    if (said?.status === "fulfilled") return said.value;
    const failed = told.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    return undefined;
  };
}
