/**
 * What a case of the corpus says, and short ways to say it.
 *
 * @module
 */

/** Major versions of Express. */
export type Version = 4 | 5;

/** A path, or one for each version of Express where their dialects differ. */
export type Path = string | { readonly 4: string; readonly 5: string };

export type Verb = "get" | "head" | "post" | "delete" | "options" | "all";

export type Setting = "case sensitive routing" | "strict routing";

/** One thing the app mounts, in the order given. */
export type Step =
  /** The route table, that is the payment middleware. */
  | { readonly kind: "table"; readonly at: string }
  /** Middleware that replaces the beginning of `req.url`. */
  | { readonly kind: "rewrite"; readonly from: string; readonly to: string }
  /** Middleware that takes the method from `?_method=`. */
  | { readonly kind: "override" }
  | { readonly kind: "route"; readonly verbs: readonly Verb[]; readonly path: Path }
  /** A router, with the defaults of `express.Router()`: neither strict nor case sensitive, also where the app is. */
  | { readonly kind: "router"; readonly at: Path; readonly steps: readonly Step[] }
  /** `express.static` over a folder of the site: see {@link SITE}. */
  | { readonly kind: "static"; readonly at: string; readonly folder: string }
  /** A handler that sends `req.url` on to another server. */
  | { readonly kind: "proxy"; readonly at: string };

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
 * What has to happen to a request without payment: `priced` is 402, `refused` is 400, both without the handler; `free`
 * is the handler's 200 with nothing charged; `preflight` is OPTIONS that gets 204 without the handler. `does not start`: the
 * table is refused when the app is made.
 */
export type Must = "priced" | "free" | "refused" | "preflight" | "not found" | "does not start";

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
  /** The key that has to price it, where there are several. */
  readonly by?: string;
  /** Whether the comparison says how long the answer took. */
  readonly timed: boolean;
}

interface Shared extends Partial<Subject> {
  readonly app: readonly Step[];
  readonly keys: readonly string[];
  readonly on?: readonly Version[];
}

type Row = readonly [
  name: string,
  request: string,
  must: Must,
  why: string,
  more?: { readonly on?: readonly Version[]; readonly by?: string; readonly timed?: boolean },
];

/** Cases that share an app and a table. */
export function casesOf(subject: Shared, rows: readonly Row[]): readonly Case[] {
  const shared = { settings: [], on: [4, 5], referenceKeys: subject.keys, timed: false, ...subject } as const;
  return rows.map(([name, request, must, why, more = {}]) => ({ ...shared, name, request, must, why, ...more }));
}

/** The table, mounted at the top or elsewhere. */
export function table(at = "/"): Step {
  return { kind: "table", at };
}

/** A route for GET, which Express serves HEAD through too. */
export function get(path: Path): Step {
  return route(["get"], path);
}

/** A route for every method. */
export function all(path: Path): Step {
  return route(["all"], path);
}

export function route(verbs: readonly Verb[], path: Path): Step {
  return { kind: "route", verbs, path };
}

export function router(at: Path, ...steps: readonly Step[]): Step {
  return { kind: "router", at, steps };
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
