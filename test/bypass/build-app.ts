/**
 * Builds real Express apps from plans: one that is to be paid for, or one that only tells which routes would be reached.
 *
 * @module
 */
import type express5 from "express";
import type { IRouter, Request, RequestHandler, Response } from "express";
import type { GroupPlan, ItemPlan, Key, Rewriter, RoutePlan } from "./app-plan.js";
import { isMounted, passesOn } from "./app-plan.js";
import { type Path, samplePath, toRegExp, writeKeyRoutes, writePath } from "./path.js";
import type { ResolvedApp, Route } from "./resolved-app.js";

export type ExpressModule = typeof express5;

/** A handler that has run. */
export interface Run {
  readonly route: Route;
  readonly method: string;
  /** What the server behind a proxy makes of the path, or a file server. */
  readonly resource: string | undefined;
}

/** A handler, or a key, that a request would get to without payments. */
export type Touch = Run | { readonly key: Key; readonly method: string; readonly isAtTable: boolean };

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
  const handlers = (route: Route): RequestHandler[] => {
    const note = (req: Request) => parts.ran({ route, method: req.method, resource: resourceOf(route, req) });
    const handler = (req: Request, res: Response) => {
      note(req);
      res.end(`handler ${route.id}`);
    };
    const files = () => express.static(parts.site, { extensions: ["html"], setHeaders: (res) => note(res.req) });
    if (passesOn(route.plan)) return [(_req, _res, next) => next()];
    const last = route.plan.sort === "files" ? files() : handler;
    return route.price.by === "charge" ? [parts.charge(route), last] : [last];
  };
  const { keys, plan } = app;
  const halves = [keys.filter((_, at) => at % 2 === 0), keys.filter((_, at) => at % 2 === 1)];
  const table = () => {
    const tables = (plan.split ? halves : [keys]).filter(({ length }) => length > 0).map(parts.table);
    return plan.wrapped
      ? tables.map(
          (one): RequestHandler =>
            (req, res, next) =>
              one(req, res, next),
        )
      : tables;
  };
  return build(express, app, { table, handlers, methodOf: (route) => route.plan.method });
}

/**
 * Builds the app without its payments, where every handler only says that it was reached. Routes take any method here,
 * and keys are routes too, so that Express itself tells what a key stands for.
 */
export function buildProbe(express: ExpressModule, app: ResolvedApp, touch: (touched: Touch) => void): BuiltApp {
  const { caseSensitive, strict } = app.plan;
  // A key is honoured relative to the mount and as the full path, whichever of them its seller had in mind.
  const relativeTo = ({ chain }: Key) => chain.slice(app.siteChain.length);
  const written = (key: Key) => (key.plan.full ? key.chain : relativeTo(key));
  const keyRoutes = (settings: Settings, isAtTable: boolean, chainOf: (key: Key) => readonly Path[]) => {
    const router = express.Router(settings);
    for (const key of app.keys) {
      for (const chain of new Set([chainOf(key), written(key)])) {
        router.all(writeKeyRoutes(chain, app.plan.dialect, key.plan), (req, _res, next) => {
          touch({ key, method: req.method, isAtTable });
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
  return build(express, app, {
    first: seen,
    table: (settings) => [seeWhole, keyRoutes(settings, true, relativeTo)],
    behindRewriters: (settings) => [
      keyRoutes(settings, false, relativeTo),
      keyRoutes(settings, false, (key) => key.chain),
    ],
    handlers: (route) => [
      seeWhole,
      (req, _res, next) => {
        touch({ route, method: req.method, resource: resourceOf(route, req) });
        next();
      },
    ],
    methodOf: () => "all",
  });
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
  readonly handlers: (route: Route) => RequestHandler[];
  readonly methodOf: (route: Route) => RoutePlan["method"];
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
    if (isMounted(item)) router.use(path, ...hooks.handlers(route));
    else router[hooks.methodOf(route)](paths as string, ...hooks.handlers(route));
    const charge = route.price.by === "charge" ? "charge, " : "";
    const written = paths instanceof RegExp ? String(paths) : JSON.stringify(paths);
    const handler = passesOn(item)
      ? "(req, res, next) => next()"
      : item.sort === "files" || item.sort === "proxy"
        ? `${item.sort} ${route.id}`
        : `handler ${route.id}`;
    say(`${name}.${isMounted(item) ? "use" : item.method}(${written}, ${charge}${handler})`);
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
    const table = plan.wrapped ? "(req, res, next) => payments(req, res, next)" : "payments";
    say(
      `${name}.use(${where}${table}${plan.split ? ", payments2" : ""}${plan.followed ? ", (req, res, next) => next()" : ""})`,
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

const REWRITE: Readonly<Record<Rewriter, (app: ResolvedApp) => RequestHandler>> = {
  "strips /v9": () => rewriteUrl((url) => url.replace(/^\/v9(?=\/)/, "")),
  "collapses slashes": () => rewriteUrl((url) => url.replace(/\/{2,}/g, "/")),
  "decodes the URL": () => rewriteUrl(decodeURIComponent),
  "sends /go elsewhere": ({ routes }) => {
    const target = samplePath(routes[0]?.chain ?? [], 0);
    return rewriteUrl((url) => (url === "/go" ? target : url));
  },
  "overrides the method": () => (req, _res, next) => {
    req.method = req.get("x-http-method-override")?.toUpperCase() ?? req.method;
    next();
  },
  "overrides the method by query": () => (req, _res, next) => {
    req.method = /[?&]_method=([A-Z]+)/.exec(req.url)?.[1] ?? req.method;
    next();
  },
  "lower-cases the path": () => rewriteUrl((url) => url.replace(/^[^?#]*/, (path) => path.toLowerCase())),
  "resolves dots": () => rewriteUrl((url) => url.replace(/^\/[^?#]*/, resolveDots)),
};

function rewriteUrl(rewrite: (url: string) => string): RequestHandler {
  return (req, _res, next) => {
    try {
      req.url = rewrite(req.url);
    } catch {
      // A malformed URL stays as it is.
    }
    next();
  };
}

function resolveDots(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/").slice(1)) {
    if (segment === "..") segments.pop();
    else if (segment !== ".") segments.push(segment);
  }
  return `/${segments.join("/")}`;
}

/** What the server behind a proxy serves: it decodes twice, and cares neither for slashes, dots nor case. */
function resourceOf({ plan }: Route, { path }: Request): string | undefined {
  if (plan.sort !== "proxy" && plan.sort !== "files") return undefined;
  try {
    const decoded = decodeURIComponent(decodeURIComponent(path)).replaceAll("\\", "/");
    return resolveDots(decoded.replace(/\/{2,}/g, "/"))
      .replace(/(.)\/$/, "$1")
      .toLowerCase();
  } catch {
    return undefined;
  }
}
