/**
 * What a case of the corpus says, and short ways to say it.
 *
 * @module
 */

/** Major versions of Express. */
export type Version = 4 | 5;

/** A path, or one for each version of Express where their dialects differ. */
export type Path = string | { readonly 4: string; readonly 5: string };

/** Where a route is: a path, several, or the source of a regular expression. */
export type Place = Path | readonly Path[] | { readonly regexp: string };

export type Verb = "get" | "head" | "post" | "put" | "delete" | "options" | "all";

export type Setting = "case sensitive routing" | "strict routing";

/** A function of the app, and what it does. */
export interface Work {
  /**
   * `answers` every request; `passes` each on, as one that checks who asks; `not found` is the 404 handler that ends an app; `cors`
   * answers OPTIONS with 204 and passes the others on; `reads the URL` answers what `new URL(req.url, base)` calls `/report` or `/v1/report`;
   * `errors` is for errors; `charges` is a `payments.charge`, of {@link CHARGED}.
   */
  readonly does: "answers" | "passes" | "not found" | "cors" | "reads the URL" | "errors" | "charges";
  /** The name of the function. */
  readonly name?: string;
  /** Whether one that needs no `next` has a parameter for it. */
  readonly takesNext?: true;
  /** Whether it does so after a promise. */
  readonly isAsync?: true;
}

/** What a `payments.charge` asks for, in atomic units. No key costs as much. */
export const CHARGED = 5_000_000;

/** One thing the app mounts, in the order given. */
export type Step =
  /** A route table, that is the payment middleware, of all keys or of some. */
  | { readonly kind: "table"; readonly at: string; readonly of?: readonly string[] }
  /** Middleware that replaces the beginning of `req.url`. */
  | { readonly kind: "rewrite"; readonly from: string; readonly to: string }
  /** Middleware that takes the method from `?_method=`. */
  | { readonly kind: "override" }
  /** A route for each of the methods. */
  | {
      readonly kind: "route";
      readonly verbs: readonly Verb[];
      readonly place: Place;
      readonly functions: readonly Work[];
    }
  /** One route for all calls: `app.route(place).all(…).get(…)`. */
  | { readonly kind: "chain"; readonly place: Place; readonly calls: readonly Call[] }
  /** Functions below a mount. */
  | { readonly kind: "use"; readonly at: Path; readonly functions: readonly Work[] }
  /** A router, with the defaults of `express.Router()`: neither strict nor case sensitive, also where the app is. At each mount. */
  | { readonly kind: "router"; readonly at: readonly Path[]; readonly steps: readonly Step[] }
  /** A function that calls a router. */
  | { readonly kind: "wrapped"; readonly at: Path; readonly steps: readonly Step[] }
  /** `express.static` over a folder of the site: see {@link SITE}. */
  | { readonly kind: "static"; readonly at: string; readonly folder: string }
  /** A handler that sends `req.url` on to another server. */
  | { readonly kind: "proxy"; readonly at: string };

/** A call of `app.route(…)`. */
export interface Call {
  readonly verb: Verb;
  readonly functions: readonly Work[];
}

/** Files that `express.static` finds. */
export const SITE: readonly string[] = [
  "public.txt",
  "files/secret.txt",
  "files/index.html",
  "files/deep/secret.txt",
  "files/a...",
  "files/a..b",
];

/**
 * What has to happen to a request without payment: `priced` is 402, `refused` is 400, `denied` is 404, all without the handler; `free`
 * is the handler's 200 with nothing charged; `preflight` is OPTIONS that gets 204 without the handler, `allowed` Express's own 200 to
 * it. `does not start`: the table is refused when the app is made.
 */
export type Must = "priced" | "free" | "refused" | "denied" | "preflight" | "allowed" | "not found" | "does not start";

/** An app and a table. */
export interface Subject {
  readonly settings: readonly Setting[];
  readonly app: readonly Step[];
  /** Of the table. The first is priced at a cent, the second at two, and so on. */
  readonly keys: readonly string[];
  /** The same for the reference, where it writes the same paths in another way. */
  readonly referenceKeys: readonly string[];
}

/** An app, a table, a request, and its required outcome. */
export interface Case extends Subject {
  /** Unique and stable; people refer to it. */
  readonly name: string;
  readonly why: string;
  /** Method and target, byte for byte as they are sent. */
  readonly request: string;
  readonly on: readonly Version[];
  readonly must: Must;
  /** The key that has to price it, where there are several; `charge` for a `payments.charge`. */
  readonly by?: string;
  /** Whether it would not be served anyway, and is priced all the same: the table does not know that. */
  readonly vain: boolean;
  /** Whether the comparison says how long the answer took. */
  readonly timed: boolean;
}

interface Shared extends Partial<Subject> {
  readonly app: readonly Step[];
  readonly keys: readonly string[];
  readonly on?: readonly Version[];
}

type More = Partial<Pick<Case, "on" | "by" | "timed" | "vain">>;

export type Row = readonly [name: string, request: string, must: Must, why: string, more?: More];

export const VAIN: More = { vain: true };

/** Cases that share an app and a table. */
export function casesOf(subject: Shared, rows: readonly Row[]): readonly Case[] {
  const shared = {
    settings: [],
    on: [4, 5],
    referenceKeys: subject.keys,
    timed: false,
    vain: false,
    ...subject,
  } as const;
  return rows.map(([name, request, must, why, more = {}]) => ({ ...shared, name, request, must, why, ...more }));
}

/** The table, mounted at the top or elsewhere; with all keys or with some. */
export function table(at = "/", of?: readonly string[]): Step {
  return { kind: "table", at, ...(of && { of }) };
}

/** Answers every request. */
export const ANSWERS: Work = { does: "answers" };

/** Passes every request on. */
export const PASSES: Work = { does: "passes" };

/** A route for GET, which Express serves HEAD through too. */
export function get(place: Place, ...functions: readonly Work[]): Step {
  return route(["get"], place, ...functions);
}

/** A route for every method. */
export function all(place: Place, ...functions: readonly Work[]): Step {
  return route(["all"], place, ...functions);
}

export function route(verbs: readonly Verb[], place: Place, ...functions: readonly Work[]): Step {
  return { kind: "route", verbs, place, functions: orAnswers(functions) };
}

export function chain(place: Place, ...calls: readonly Call[]): Step {
  return { kind: "chain", place, calls };
}

export function call(verb: Verb, ...functions: readonly Work[]): Call {
  return { verb, functions: orAnswers(functions) };
}

export function use(at: Path, ...functions: readonly Work[]): Step {
  return { kind: "use", at, functions: orAnswers(functions) };
}

function orAnswers(functions: readonly Work[]): readonly Work[] {
  return functions.length === 0 ? [ANSWERS] : functions;
}

/** The 404 handler at the end of an app. */
export const NOT_FOUND: Step = use("/", { does: "not found", name: "notFound" });

/** A page for whatever else is asked for. */
export const PAGE: Step = get({ 4: "*", 5: "/{*page}" });

export function router(at: Path | readonly Path[], ...steps: readonly Step[]): Step {
  return { kind: "router", at: isList(at) ? at : [at], steps };
}

export function wrapped(at: Path, ...steps: readonly Step[]): Step {
  return { kind: "wrapped", at, steps };
}

function isList(at: Path | readonly Path[]): at is readonly Path[] {
  return Array.isArray(at);
}

export function rewrite(from: string, to: string): Step {
  return { kind: "rewrite", from, to };
}

export function files(at: string, folder = ""): Step {
  return { kind: "static", at, folder };
}

export function proxy(at: string): Step {
  return { kind: "proxy", at };
}

export const override: Step = { kind: "override" };
