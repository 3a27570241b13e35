/**
 * Asks one priced route, as clients, browsers and cheats do.
 *
 * @module
 */
import { isPublicHost } from "@farebox/bazaar/facilitator";
import type { PaymentRequirements } from "@farebox/core";
import { isJsonObject, type JsonObject, PAYMENT_REQUIRED, parseJson } from "@farebox/core/protocol";
import { type Diagnosis, diagnose } from "./diagnoses.js";
import { checkOffers, describeOffer, readOffers } from "./offers.js";
import { isHeaderOverflow, type Probe, type Probed } from "./probe.js";
import { type Target, unreachable } from "./targets.js";

type Responded = Extract<Probed, { kind: "response" }>;

/** What a route said. */
export interface RouteChecked {
  readonly subject: string;
  readonly offers: readonly PaymentRequirements[];
  readonly diagnoses: readonly Diagnosis[];
  /** One line for people: `402, $0.001 (USDC) on Base`. */
  readonly summary: string;
}

/** What a check needs. */
export interface RouteChecksDeps {
  readonly probe: Probe;
  readonly now: () => number;
}

const PAGE = "https://farebox-doctor.example";
/** Characters. Some proxies take no longer header. */
const LARGE_HEADER = 4096;
const CLOCK_LEEWAY_MS = 30_000;

/** Checks a route. */
export async function checkRoute(target: Target, deps: RouteChecksDeps): Promise<RouteChecked> {
  const { method, url } = target;
  const subject = `${method} ${url}`;
  const unpaid = await deps.probe(requestTo(target, { origin: PAGE }));
  if (unpaid.kind === "failed") {
    const diagnosis = isHeaderOverflow(unpaid.code)
      ? diagnose("HEADER_TOO_LARGE", subject)
      : unreachable(subject, unpaid);
    return { subject, offers: [], diagnoses: [diagnosis], summary: unpaid.code };
  }
  const served = checkStatus(unpaid, subject);
  if (served !== undefined) return { subject, offers: [], diagnoses: [served], summary: String(unpaid.status) };
  const challenge = readChallenge(unpaid, subject);
  if ("diagnosis" in challenge) {
    return { subject, offers: [], diagnoses: [challenge.diagnosis], summary: "402, unreadable" };
  }
  const accepts = challenge.document["accepts"];
  const { offers, diagnoses } = readOffers(Array.isArray(accepts) ? accepts : [], subject);
  const isPublic = isPublicHost(new URL(url).hostname);
  const found = [
    ...(Array.isArray(accepts) && accepts.length > 0 ? [] : [diagnose("CHALLENGE_EMPTY", subject)]),
    ...diagnoses,
    ...checkOffers(offers, subject, isPublic),
    ...checkHeaders(unpaid, subject, deps.now()),
    ...checkResource(challenge.document, target, subject),
    ...(await checkPreflight(unpaid, target, deps.probe)),
    ...(await checkSpellings(target, deps.probe)),
    ...(await checkBadPayment(offers, target, deps.probe)),
  ];
  return { subject, offers, diagnoses: found, summary: `402, ${offers.map(describeOffer).join(", or ")}` };
}

/** A request to the route, with the least body that its method may need. */
function requestTo({ method, url }: Target, headers: Readonly<Record<string, string>> = {}) {
  const hasBody = method !== "GET" && method !== "DELETE" && method !== "HEAD";
  return hasBody
    ? { method, url, headers: { "content-type": "application/json", ...headers }, body: "{}" }
    : { method, url, headers };
}

function checkStatus({ status }: Responded, subject: string): Diagnosis | undefined {
  if (status === 402) return undefined;
  if (status >= 200 && status < 300) {
    return diagnose("FREE", subject, { message: `A request without a payment is served: ${status}` });
  }
  return diagnose("STATUS", subject, { message: `A request without a payment gets ${status}, and not 402` });
}

/** The document of `PAYMENT-REQUIRED`. */
function readChallenge(
  { headers, body }: Responded,
  subject: string,
): { readonly document: JsonObject } | { readonly diagnosis: Diagnosis } {
  const header = headers.get(PAYMENT_REQUIRED);
  if (header === null) {
    const parsed = parseJson(body);
    const isVersion1 = parsed.ok && isJsonObject(parsed.value) && parsed.value["x402Version"] === 1;
    const message = "The 402 is of x402 version 1: it has no PAYMENT-REQUIRED header";
    return { diagnosis: diagnose("NO_CHALLENGE", subject, isVersion1 ? { message } : {}) };
  }
  const unreadable = (why: string) => ({
    diagnosis: diagnose("CHALLENGE_UNREADABLE", subject, { message: `PAYMENT-REQUIRED ${why}` }),
  });
  // Clients test the alphabet before they decode.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(header)) return unreadable("is not standard base64");
  const parsed = parseJson(Buffer.from(header, "base64").toString("utf8"));
  if (!parsed.ok || !isJsonObject(parsed.value)) return unreadable("is not a JSON object");
  if (parsed.value["x402Version"] !== 2)
    return unreadable(`is of version ${JSON.stringify(parsed.value["x402Version"])}`);
  return { document: parsed.value };
}

function checkHeaders({ headers }: Responded, subject: string, nowMs: number): readonly Diagnosis[] {
  const found: Diagnosis[] = [];
  const length = headers.get(PAYMENT_REQUIRED)?.length ?? 0;
  if (length > LARGE_HEADER) {
    found.push(
      diagnose("HEADER_LARGE", subject, {
        message: `PAYMENT-REQUIRED has ${length} characters; some proxies take at most ${LARGE_HEADER}`,
      }),
    );
  }
  const cache = headers.get("cache-control") ?? "";
  if (!/\bno-store\b/i.test(cache)) {
    const said = cache === "" ? "no Cache-Control" : `Cache-Control: ${cache}`;
    found.push(diagnose("CACHEABLE", subject, { message: `The 402 has ${said}, so that caches may keep it` }));
  }
  const servedMs = Date.parse(headers.get("date") ?? "");
  if (Math.abs(servedMs - nowMs) > CLOCK_LEEWAY_MS) {
    const seconds = Math.round((servedMs - nowMs) / 1000);
    const said = seconds > 0 ? `${seconds} seconds ahead of` : `${-seconds} seconds behind`;
    found.push(diagnose("CLOCK", subject, { message: `The server's clock is ${said} this machine's` }));
  }
  return found;
}

/** What the server thinks its own URL is, and whether it can be trusted on the way. */
function checkResource(document: JsonObject, { url }: Target, subject: string): readonly Diagnosis[] {
  const { origin, protocol, hostname } = new URL(url);
  const found = protocol === "http:" && isPublicHost(hostname) ? [diagnose("NOT_TLS", subject)] : [];
  const { resource } = document;
  const named = isJsonObject(resource) ? resource["url"] : undefined;
  if (typeof named !== "string" || !URL.canParse(named)) {
    const message = "The challenge does not say which resource it is for";
    return [...found, diagnose("RESOURCE_URL", subject, { message })];
  }
  const said = new URL(named).origin;
  if (said === origin || said === "null") return found;
  return [
    ...found,
    diagnose("RESOURCE_URL", subject, { message: `The challenge is for ${said}, and ${origin} was asked` }),
  ];
}

/** Whether a page of another origin can pay. */
async function checkPreflight(
  { headers }: Responded,
  { url, method }: Target,
  probe: Probe,
): Promise<readonly Diagnosis[]> {
  const subject = `${method} ${url}`;
  const asked = await probe({
    method: "OPTIONS",
    url,
    headers: {
      origin: PAGE,
      "access-control-request-method": method,
      "access-control-request-headers": "payment-signature,access-control-expose-headers",
    },
  });
  const preflight = asked.kind === "response" && asked.status < 300 ? asked.headers : undefined;
  const origins = [headers.get("access-control-allow-origin"), preflight?.get("access-control-allow-origin")];
  if (origins.every((origin) => origin === null || origin === undefined)) return [diagnose("CORS_MISSING", subject)];
  if (!origins.every((origin) => origin === "*" || origin === PAGE)) {
    // The server has a list of origins, and this one is not on it.
    return [];
  }
  const exposed = wordsOf(headers.get("access-control-expose-headers"));
  const allowed = wordsOf(preflight?.get("access-control-allow-headers") ?? null);
  const lacks = (words: readonly string[], ...needed: string[]) =>
    needed.filter((word) => !words.includes("*") && !words.includes(word));
  const unexposed = lacks(exposed, "payment-required", "payment-response");
  const refused = lacks(allowed, "payment-signature", "access-control-expose-headers");
  return [
    ...(unexposed.length === 0
      ? []
      : [
          diagnose("CORS_EXPOSE", subject, {
            message: `Access-Control-Expose-Headers lacks ${unexposed.join(" and ")}`,
          }),
        ]),
    ...(refused.length === 0
      ? []
      : [diagnose("CORS_ALLOW", subject, { message: `Access-Control-Allow-Headers lacks ${refused.join(" and ")}` })]),
  ];
}

function wordsOf(header: string | null): readonly string[] {
  return (header ?? "").split(",").map((word) => word.trim().toLowerCase());
}

/** Other spellings of a path, which routers and proxies take for the same one. */
function spellingsOf(url: string): readonly string[] {
  const { origin, pathname, search } = new URL(url);
  const cut = pathname.lastIndexOf("/") + 1;
  const [before, last] = [pathname.slice(0, cut), pathname.slice(cut)];
  const letter = /[a-z]/i.exec(last);
  const paths = [
    pathname.endsWith("/") ? pathname.slice(0, -1) : `${pathname}/`,
    `/${pathname}`,
    ...(letter === null
      ? []
      : [
          before + swapCase(last),
          `${before}${last.slice(0, letter.index)}%${last.charCodeAt(letter.index).toString(16)}${last.slice(letter.index + 1)}`,
        ]),
  ];
  return [...new Set(paths)].filter((path) => path !== "" && path !== pathname).map((path) => origin + path + search);
}

function swapCase(text: string): string {
  const upper = text.toUpperCase();
  return upper === text ? text.toLowerCase() : upper;
}

/** Whether another spelling, or HEAD, is served for nothing. */
async function checkSpellings(target: Target, probe: Probe): Promise<readonly Diagnosis[]> {
  const { method, url } = target;
  if (method !== "GET") return [];
  const subject = `${method} ${url}`;
  const found: Diagnosis[] = [];
  const head = await probe({ method: "HEAD", url });
  if (isServed(head))
    found.push(diagnose("HEAD_FREE", subject, { message: `HEAD is served without a payment: ${head.status}` }));
  // Some servers respond to every path with a page.
  const { origin } = new URL(url);
  const anything = await probe({ method, url: `${origin}/farebox-doctor/no-such-path` });
  for (const spelling of spellingsOf(url)) {
    const served = await probe({ method, url: spelling });
    if (!isServed(served) || (isServed(anything) && anything.body === served.body)) continue;
    found.push(diagnose("BYPASS", subject, { message: `${spelling} is served without a payment: ${served.status}` }));
  }
  return found;
}

function isServed(probed: Probed): probed is Responded {
  return probed.kind === "response" && probed.status >= 200 && probed.status < 300;
}

/** Sends a payment without a signature. */
async function checkBadPayment(
  [offer]: readonly PaymentRequirements[],
  target: Target,
  probe: Probe,
): Promise<readonly Diagnosis[]> {
  if (offer === undefined) return [];
  const subject = `${target.method} ${target.url}`;
  const payment = { x402Version: 2, accepted: offer, payload: {} };
  const header = Buffer.from(JSON.stringify(payment)).toString("base64");
  const answered = await probe(requestTo(target, { "payment-signature": header }));
  if (answered.kind === "failed") return [];
  const { status } = answered;
  if (isServed(answered))
    return [diagnose("BAD_PAYMENT_SERVED", subject, { message: `A payment that nobody signed is served: ${status}` })];
  // 503 is what a seller says whose facilitator is down.
  if (status < 500 || status === 503) return [];
  return [diagnose("BAD_PAYMENT_STATUS", subject, { message: `A payment that nobody signed gets ${status}` })];
}
