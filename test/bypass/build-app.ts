/**
 * Builds real Express apps from plans: one that is to be paid for, or one that only tells which routes would be reached.
 *
 * @module
 */
import type express5 from "express";
import type { IRouter, Request, RequestHandler, Response } from "express";
import type { GroupPlan, HandlerForm, ItemPlan, Key, RouteMethod, RoutePlan, TableForm } from "./app-plan.js";
import { isMounted, passesOn, takesMethod } from "./app-plan.js";
import { asConnectApp, inForm, REWRITE, resourceOf } from "./handlers.js";
import { type Path, toRegExp, writeKeyRoutes, writePath } from "./path.js";
import type { ResolvedApp, Route } from "./resolved-app.js";

export type ExpressModule = typeof express5;

/** A handler that has run. */
export interface Run {
  readonly route: Route;
  readonly method: string;
  /** What the server behind a proxy makes of the path, or a file server. */
  readonly resource: string | undefined;
  /** Of a chain: which of its functions. */
  readonly part: "first" | "second";
}

/** A key whose path a request has. */
export interface KeyTouch {
  readonly key: Key;
  readonly method: string;
  readonly isAtTable: boolean;
  /** Whether the seller had this path in mind: the table also takes a full path for one below its mount. */
  readonly isMeant: boolean;
}

/** A request passes the table. */
export interface TableTouch {
  readonly table: true;
}

/** What a request would get to without payments. */
export type Touch = Run | KeyTouch | TableTouch;

/** How the app is told about payments. */
export interface Parts {
  readonly table: (keys: readonly Key[]) => RequestHandler;
  readonly charge: (route: Route) => RequestHandler;
  /** The folder that file servers serve. */
  readonly site: string;
  readonly ran: (run: Run) => void;
}

export interface BuiltApp {
  readonly listener: ReturnType<ExpressModule>;
  /** What was registered, in order, as one would write it. */
  readonly registrations: readonly string[];
}

/** Builds the app with its payments. Every handler answers. */
export function buildApp(express: ExpressModule, app: ResolvedApp, parts: Parts): BuiltApp {
  const handlersOf = (route: Route): readonly RequestHandler[][] => {
    const { plan, price } = route;
    if (passesOn(plan)) return [[passing], [passing]];
    const functions = (["first", "second"] as const).map((part) => {
      const note = (req: Request) => parts.ran({ route, method: req.method, resource: resourceOf(route, req), part });
      if (plan.sort === "files") {
        return [express.static(parts.site, { extensions: ["html"], setHeaders: (res) => note(res.req) })];
      }
      return inForm(plan.form, (req: Request, res: Response) => {
        note(req);
        res.end(`handler ${route.id}`);
      });
    });
    const charge = price.by === "charge" ? [parts.charge(route)] : [];
    return functions.map((some, at) => {
      const own = plan.sort === "connect" ? [asConnectApp(some)] : some;
      // The sign-in may be before the charge.
      const isBehind = own.length > 1 && route.id % 2 === 0;
      if (at === 1) return own;
      return isBehind ? [...own.slice(0, -1), ...charge, ...own.slice(-1)] : [...charge, ...own];
    });
  };
  const { keys, plan } = app;
  const halves = [keys.filter((_, at) => at % 2 === 0), keys.filter((_, at) => at % 2 === 1)];
  const table = () => {
    const filled = (plan.split ? halves : [keys]).filter(({ length }) => length > 0);
    return filled.map((some) => inTableForm(plan.table, () => parts.table(some)));
  };
  return build(express, app, { table, handlersOf, methodOf: (_, method) => method });
}

const passing: RequestHandler = (_req, _res, next) => next();

/** How requests come to a table. */
function inTableForm(form: TableForm, make: () => RequestHandler): RequestHandler {
  switch (form) {
    case "seen":
      return make();
    case "wrapped": {
      const one = make();
      return (req, res, next) => one(req, res, next);
    }
    case "per request":
      return (req, res, next) => make()(req, res, next);
    case "per tenant": {
      const tables = new Map<string, RequestHandler>();
      return (req, res, next) => {
        const tenant = req.get("x-tenant") ?? "";
        const own = tables.get(tenant) ?? make();
        tables.set(tenant, own);
        return own(req, res, next);
      };
    }
    default:
      return form satisfies never;
  }
}

const TABLE_TEXTS: Readonly<Record<TableForm, string>> = {
  seen: "payments.routes(keys)",
  wrapped: "(req, res, next) => table(req, res, next)",
  "per request": "(req, res, next) => payments.routes(keys)(req, res, next)",
  "per tenant": "(req, res, next) => tableOf(tenant)(req, res, next)",
};

/**
 * Builds the app without its payments, where every handler only says that it was reached. Routes take any method here,
 * and keys are routes too, so that Express itself tells what a key stands for.
 */
export function buildProbe(express: ExpressModule, app: ResolvedApp, touch: (touched: Touch) => void): BuiltApp {
  const { caseSensitive, strict } = app.plan;
  // A key is honoured relative to the mount and as the full path, whichever of them its seller had in mind.
  const relative = new Map(app.keys.map((key) => [key, key.chain.slice(app.siteChain.length)]));
  const relativeTo = (key: Key) => relative.get(key) ?? key.chain;
  const written = (key: Key) => (key.plan.full ? key.chain : relativeTo(key));
  const keyRoutes = (settings: Settings, isAtTable: boolean, chainOf: (key: Key) => readonly Path[]) => {
    const router = express.Router(settings);
    for (const key of app.keys) {
      for (const chain of new Set([chainOf(key), written(key)])) {
        const isMeant = chain === chainOf(key);
        router.all(writeKeyRoutes(chain, app.plan.dialect, key.plan), (req, _res, next) => {
          touch({ key, method: req.method, isAtTable, isMeant });
          next();
        });
      }
    }
    return router;
  };
  // A mount may change what comes behind it: Express 4 cuts a slash off, and both cut by the length of an escaped text.
  const seen = keyRoutes({ caseSensitive, strict }, false, (key) => key.chain);
  const seeWhole: RequestHandler = (req, res, next) => {
    if (req.baseUrl !== "")
      seen(Object.assign(Object.create(req), { url: req.baseUrl + req.path, baseUrl: "" }), res, () => {});
    next();
  };
  const passed: RequestHandler = (_req, _res, next) => {
    touch({ table: true });
    next();
  };
  return build(express, app, {
    first: seen,
    table: (settings) => [passed, seeWhole, keyRoutes(settings, true, relativeTo)],
    behindRewriters: (settings) => [
      keyRoutes(settings, false, relativeTo),
      keyRoutes(settings, false, (key) => key.chain),
    ],
    handlersOf: (route) => {
      const noteTouch: RequestHandler = (req, _res, next) => {
        const { method } = req;
        touch({ route, method, resource: resourceOf(route, req), part: partOf(route.plan, method) });
        next();
      };
      const handlers = [seeWhole, noteTouch];
      // An app of another framework does not take all that a function takes.
      return [route.plan.sort === "connect" ? [asConnectApp(handlers)] : handlers, []];
    },
    methodOf: () => "all",
  });
}

/** Which function of a chain gets a request. */
function partOf({ sort, method, second }: RoutePlan, asked: string): Run["part"] {
  if (sort !== "chain" || !takesMethod(second, asked)) return "first";
  // Express serves HEAD through GET only if the route has no functions for HEAD.
  const isHead = asked === "HEAD" && second === "head" && method !== "all";
  return isHead || !takesMethod(method, asked) ? "second" : "first";
}

interface Settings {
  readonly caseSensitive: boolean;
  readonly strict: boolean;
}

interface Hooks {
  /** Comes before everything but the rewriters. */
  readonly first?: RequestHandler;
  readonly table: (settings: Settings) => readonly RequestHandler[];
  /** Comes behind what rewrites a request between table and routes. */
  readonly behindRewriters?: (settings: Settings) => readonly RequestHandler[];
  /** The functions of a route; of a chain, those of both methods. */
  readonly handlersOf: (route: Route) => readonly RequestHandler[][];
  readonly methodOf: (route: Route, method: RouteMethod) => RouteMethod;
}

interface Container extends Settings {
  readonly router: IRouter;
  readonly name: string;
  /** What routes of a flat group begin with. */
  readonly prefix: readonly Path[];
}

function build(express: ExpressModule, app: ResolvedApp, hooks: Hooks): BuiltApp {
  const { plan } = app;
  const registrations: string[] = [];
  const say = (line: string) => void registrations.push(line);
  const routes = new Map(app.routes.map((route) => [route.plan, route]));
  let containers = 0;

  function fill(container: Container, items: readonly ItemPlan[]): void {
    for (const item of items) {
      if (item.kind === "route") addRoute(container, item);
      else addGroup(container, item);
    }
  }

  function addRoute({ router, name, prefix }: Container, item: RoutePlan): void {
    const route = routes.get(item);
    if (route === undefined) throw new TypeError("a route that was not resolved");
    const path = writePath([...prefix, item.path], plan.dialect);
    const paths = pathsOf(item, prefix);
    const [first = [], second = []] = hooks.handlersOf(route);
    if (isMounted(item)) router.use(path, ...first);
    else if (item.sort === "chain") {
      const chain = router.route(path);
      chain[hooks.methodOf(route, item.method)](...first);
      if (second.length > 0) chain[hooks.methodOf(route, item.second)](...second);
    } else router[hooks.methodOf(route, item.method)](paths as string, ...first);
    say(`${name}.${describeRoute(route, paths)}`);
  }

  function pathsOf({ sort, path, alias }: RoutePlan, prefix: readonly Path[]): string | string[] | RegExp {
    const written = writePath([...prefix, path], plan.dialect);
    if (sort === "array") return [written, writePath([...prefix, alias], plan.dialect)];
    return sort === "regexp"
      ? toRegExp({ pieces: [...prefix, path].flatMap(({ pieces }) => pieces), slash: false })
      : written;
  }

  function addGroup(parent: Container, group: GroupPlan): void {
    const mounts = [...parent.prefix, group.mount];
    const path = writePath(mounts, plan.dialect);
    const isInside = plan.inside && group.sort !== "flat";
    const add = () => addTable(parent, { path, settings: group.sort === "flat" ? parent : group });
    if (group === app.site && !isInside && !plan.late) add();
    if (group.sort === "flat") fill({ ...parent, prefix: mounts }, group.items);
    else addRouter(parent, group, path);
    if (group === app.site && !isInside && plan.late) add();
  }

  function addRouter(parent: Container, group: GroupPlan, path: string): void {
    const { caseSensitive, strict } = group;
    const name = `${group.sort}${++containers}`;
    const router = createContainer(express, group);
    say(`${name} = ${group.sort === "app" ? "express" : "Router"}(${JSON.stringify({ caseSensitive, strict })})`);
    const container = { router, name, prefix: [], caseSensitive, strict };
    const isHere = group === app.site && plan.inside;
    if (isHere && !plan.late) addTable(container, { settings: group });
    fill(container, group.items);
    if (isHere && plan.late) addTable(container, { settings: group });
    const also = group.also === undefined || group.sort !== "router" ? [] : [[...parent.prefix, group.also]];
    for (const mount of [path, ...also.map((mounts) => writePath(mounts, plan.dialect))]) {
      parent.router.use(mount, router);
      say(`${parent.name}.use(${JSON.stringify(mount)}, ${name})`);
    }
  }

  function addTable({ router, name }: Container, { path, settings }: TablePlace): void {
    if (app.keys.length === 0) return;
    const between = plan.between.map((rewriter) => REWRITE[rewriter](app));
    const follower: RequestHandler[] = plan.followed ? [(_req, _res, next) => next()] : [];
    const handlers = [...hooks.table(settings), ...follower];
    if (path === undefined) router.use(...handlers);
    else router.use(path, ...handlers);
    const where = path === undefined ? "" : `${JSON.stringify(path)}, `;
    const second = plan.split ? ", and another one" : "";
    say(
      `${name}.use(${where}${TABLE_TEXTS[plan.table]}${second}${plan.followed ? ", (req, res, next) => next()" : ""})`,
    );
    for (const [at, rewriter] of between.entries()) {
      router.use(rewriter);
      say(`${name}.use(middleware that ${plan.between[at]})`);
    }
    const behind = between.length === 0 ? [] : (hooks.behindRewriters?.(settings) ?? []);
    for (const handler of behind) router.use(handler);
    if (path !== undefined) for (const handler of behind) router.use(path, handler);
  }

  const listener = express();
  applySettings(listener, plan);
  say(`app = express(${JSON.stringify({ caseSensitive: plan.caseSensitive, strict: plan.strict })})`);
  for (const rewriter of plan.rewriters) {
    listener.use(REWRITE[rewriter](app));
    say(`app.use(middleware that ${rewriter})`);
  }
  if (hooks.first !== undefined) listener.use(hooks.first);
  const { caseSensitive, strict } = plan;
  const root = { router: listener, name: "app", prefix: [], caseSensitive, strict };
  if (app.site === undefined && !plan.late) addTable(root, { settings: root });
  fill(root, plan.items);
  if (app.site === undefined && plan.late) addTable(root, { settings: root });
  return { listener, registrations };
}

interface TablePlace {
  readonly path?: string;
  readonly settings: Settings;
}

function describeRoute({ plan, price, id }: Route, paths: string | readonly string[] | RegExp): string {
  const charge = price.by === "charge" ? "charge, " : "";
  const written = paths instanceof RegExp ? String(paths) : JSON.stringify(paths);
  const isOther = plan.sort === "files" || plan.sort === "proxy" || plan.sort === "connect";
  const name = `${isOther ? plan.sort : "handler"} ${id}`;
  const handler = passesOn(plan)
    ? "(req, res, next) => next()"
    : plan.sort === "files"
      ? name
      : inWords(plan.form, name);
  if (plan.sort === "chain") return `route(${written}).${plan.method}(${charge}${handler}).${plan.second}(${handler})`;
  return `${isMounted(plan) ? "use" : plan.method}(${written}, ${charge}${handler})`;
}

function inWords(form: HandlerForm, name: string): string {
  return form === "behind sign-in" ? `requireAuth, ${name}` : form === "two arguments" ? name : `${name} (${form})`;
}

function createContainer(express: ExpressModule, group: GroupPlan): IRouter & RequestHandler {
  const { caseSensitive, strict } = group;
  if (group.sort === "router") return express.Router({ caseSensitive, strict });
  const app = express();
  applySettings(app, group);
  return app;
}

function applySettings(app: ReturnType<ExpressModule>, { caseSensitive, strict }: Settings): void {
  // Without this the error pages of both versions quote the stack, and to the console too.
  app.set("env", "test");
  if (caseSensitive) app.enable("case sensitive routing");
  if (strict) app.enable("strict routing");
}
