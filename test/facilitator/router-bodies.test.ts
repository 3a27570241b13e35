/** Invalid bodies get a clear 400, without a stack, a hang, or an open connection. */
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { FacilitatorRequest } from "@farebox/core";
import { createTestFacilitator, type TestFacilitator } from "@farebox/testing";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { head, openCounter, VERSIONS } from "./counter.js";
import { createOffer } from "./stage.js";

/** `vitest.config.ts` sets it. */
const seed = Number(process.env["FAREBOX_SEED"]);

let facilitator: TestFacilitator;

beforeEach(() => {
  facilitator = createTestFacilitator();
});

// Invalid bodies never reach the facilitator.
afterEach(() => {
  expect(facilitator.calls.settle).toEqual([]);
});

const terms = createOffer();
const request: FacilitatorRequest = {
  x402Version: 2,
  paymentPayload: { x402Version: 2, accepted: terms, payload: {} },
  paymentRequirements: terms,
};
const { paymentPayload, paymentRequirements } = request;

const REFUSED: readonly {
  readonly why: string;
  readonly body: string;
  readonly type?: string;
  readonly error: string;
}[] = [
  { why: "nothing", body: "", error: "the body is not JSON" },
  { why: "text", body: "hello", error: "the body is not JSON" },
  { why: "half a document", body: JSON.stringify(request).slice(0, -1), error: "the body is not JSON" },
  { why: "two documents", body: "{}{}", error: "the body is not JSON" },
  { why: "a byte order mark", body: `\ufeff${JSON.stringify(request)}`, error: "the body is not JSON" },
  { why: "an array", body: JSON.stringify([request]), error: "must be a JSON object" },
  { why: "null", body: "null", error: "must be a JSON object" },
  { why: "a number", body: "402", error: "must be a JSON object" },
  { why: "a text in JSON", body: '"{}"', error: "must be a JSON object" },
  { why: "an empty object", body: "{}", error: "x402Version must be the number 2" },
  { why: "version 1", body: JSON.stringify({ ...request, x402Version: 1 }), error: "x402Version" },
  { why: "version 2 as a text", body: JSON.stringify({ ...request, x402Version: "2" }), error: "x402Version" },
  { why: "no paymentPayload", body: JSON.stringify({ x402Version: 2, paymentRequirements }), error: "paymentPayload" },
  {
    why: "no paymentRequirements",
    body: JSON.stringify({ x402Version: 2, paymentPayload }),
    error: "paymentRequirements",
  },
  {
    why: "a payload that is a list",
    body: JSON.stringify({ ...request, paymentPayload: [] }),
    error: "paymentPayload",
  },
  {
    why: "requirements without a scheme",
    body: JSON.stringify({ ...request, paymentRequirements: { ...terms, scheme: 1 } }),
    error: "paymentRequirements.scheme",
  },
  {
    why: "requirements without a network",
    body: JSON.stringify({ ...request, paymentRequirements: { ...terms, network: null } }),
    error: "paymentRequirements.network",
  },
  { why: "lists in lists, 5000 deep", body: "[".repeat(5_000) + "]".repeat(5_000), error: "nested too deeply" },
  {
    why: "objects in objects, 5000 deep",
    body: '{"a":'.repeat(5_000) + 1 + "}".repeat(5_000),
    error: "nested too deeply",
  },
  { why: "JSON with another content type", body: JSON.stringify(request), type: "text/plain", error: "content type" },
  { why: "a form", body: "x402Version=2", type: "application/x-www-form-urlencoded", error: "content type" },
  {
    why: "JSON with a similar content type",
    body: JSON.stringify(request),
    type: "application/jsonp",
    error: "content type",
  },
];

describe.each(VERSIONS)("on %s", (_name, express) => {
  test("the router answers 400 to each invalid body, with the reason alone", async () => {
    const counter = await openCounter(express, facilitator);
    for (const { why, body, type, error } of REFUSED) {
      for (const path of ["/verify", "/settle"]) {
        const response = await counter.post(path, body, type);
        expect(response, why).toMatchObject({ status: 400, json: { error: expect.stringContaining(error) } });
        expect(Object.keys(response.json as object), why).toEqual(["error"]);
        expect(response.text, why).not.toMatch(/\bat .*:\d+/);
      }
    }
  });

  const PARSED = REFUSED.filter(({ error }) => !error.includes("JSON,") && !error.includes("not JSON"));
  test("the router answers 400 to each invalid body that the app has parsed", async () => {
    const before = [express.json({ strict: false }), express.text(), express.urlencoded({ extended: false })];
    const counter = await openCounter(express, facilitator, { before });
    for (const { why, body, type, error } of PARSED) {
      const response = await counter.post("/settle", body, type);
      // Depth is limited before parsing. Of a parsed body only the outer form is checked.
      const expected = error === "nested too deeply" ? /must be a JSON object|x402Version/ : new RegExp(error);
      expect(response, why).toMatchObject({ status: 400, json: { error: expect.stringMatching(expected) } });
    }
  });

  test("the router answers 400 if other middleware has read the body", async () => {
    const counter = await openCounter(express, facilitator, {
      before: [(req, _res, next) => void req.resume().once("end", () => next())],
    });
    expect(await counter.post("/verify", JSON.stringify(request))).toMatchObject({
      status: 400,
      json: { error: "the body has already been read, and no body parser has kept it" },
    });
  });

  test("the router reads a body at the limit, and refuses one byte more", async () => {
    const counter = await openCounter(express, facilitator, { bodyLimitBytes: 2_048 });
    const text = JSON.stringify(request);
    expect(await counter.post("/verify", text.padEnd(2_048))).toMatchObject({ status: 200 });
    const refused = await counter.post("/verify", text.padEnd(2_049));
    expect(refused).toMatchObject({ status: 400, json: { error: "the body must not be longer than 2048 bytes" } });
    expect(refused.headers.get("connection")).toBe("close");
  });

  test("the router answers an endless body at the limit, and closes the connection", async () => {
    const counter = await openCounter(express, facilitator, { bodyLimitBytes: 4_096 });
    const { socket, ended } = await counter.connect(head("/settle", { "transfer-encoding": "chunked" }));
    const chunk = `1000\r\n${"a".repeat(4_096)}\r\n`;
    const writeOn = (): void => void (socket.writable && socket.write(chunk, () => setImmediate(writeOn)));
    writeOn();
    expect(await ended).toMatch(/^HTTP\/1\.1 400 [\s\S]*must not be longer than 4096 bytes/);
    await untilNobodyIsConnected(counter.server);
  });

  test("the router answers a missing body when the time is up, and closes the connection", async () => {
    const counter = await openCounter(express, facilitator, { bodyTimeoutMs: 60 });
    const { ended } = await counter.connect(`${head("/settle", { "content-length": "1000" })}{"x402Version"`);
    expect(await ended).toMatch(/^HTTP\/1\.1 400 [\s\S]*must arrive within 60 ms/);
    await untilNobodyIsConnected(counter.server);
  });

  test("a client that hangs up in the middle leaves no connection and no timer", async () => {
    const counter = await openCounter(express, facilitator, { bodyTimeoutMs: 600_000 });
    const waiting = watchTimers(600_000);
    const arrived = once(counter.server, "request");
    const { socket } = await counter.connect(`${head("/settle", { "content-length": "1000" })}{"x402Version"`);
    const [req] = await arrived;
    expect(waiting()).toBe(1);
    socket.destroy();
    await closing(req);
    await untilNobodyIsConnected(counter.server);
    expect(waiting()).toBe(0);
  });

  test("a client that hangs up before its body is read leaves no connection and no timer", async () => {
    const passed = latch();
    const counter = await openCounter(express, facilitator, {
      bodyTimeoutMs: 600_000,
      before: [
        (req, _res, next) =>
          void closing(req)
            .then(() => next())
            .then(passed.open),
      ],
    });
    const waiting = watchTimers(600_000);
    const arrived = once(counter.server, "request");
    const { socket } = await counter.connect(`${head("/settle", { "content-length": "1000" })}{"x402Version"`);
    await arrived;
    socket.destroy();
    await passed.opened;
    await untilNobodyIsConnected(counter.server);
    expect(waiting()).toBe(0);
  });

  test(`the router answers any JSON with a status below 500, in JSON (seed ${seed})`, async () => {
    const counter = await openCounter(express, facilitator);
    const parsed = await openCounter(express, facilitator, { before: [express.json({ strict: false })] });
    const near = fc.record({
      x402Version: fc.constant(2),
      paymentPayload: fc.jsonValue(),
      paymentRequirements: fc.jsonValue(),
    });
    const body = fc
      .oneof(
        fc.jsonValue(),
        near,
        fc.object().map((one) => ({ ...request, ...one })),
      )
      .map((one) => JSON.stringify(one));
    await fc.assert(
      fc.asyncProperty(body, fc.constantFrom(counter, parsed), async (text, { post }) => {
        const { status, json } = await post("/verify", text);
        expect(status).toBeLessThan(500);
        expect(json).toEqual(expect.any(Object));
      }),
      { seed, numRuns: 60 },
    );
  });
});

/** Counts timers of one length that are set from now on and not cleared. Other timers of this process do not count. */
function watchTimers(delayMs: number): () => number {
  const set = vi.spyOn(globalThis, "setTimeout");
  const clear = vi.spyOn(globalThis, "clearTimeout");
  onTestFinished(() => void [set, clear].map((spy) => spy.mockRestore()));
  return () => {
    const cleared = new Set<unknown>(clear.mock.calls.map(([timer]) => timer));
    const timers = set.mock.results.filter((_result, call) => set.mock.calls[call]?.[1] === delayMs);
    return timers.filter(({ value }) => !cleared.has(value)).length;
  };
}

/** Resolves when a request is over, completed or not. */
function closing(req: IncomingMessage): Promise<void> {
  return new Promise((resolve) => void req.once("close", resolve));
}

function latch(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** The end of a connection is known to its client before it is known to the server. */
async function untilNobodyIsConnected(server: Server): Promise<void> {
  const count = () => new Promise<number>((resolve) => server.getConnections((_error, open) => resolve(open)));
  while ((await count()) > 0) await new Promise(setImmediate);
}
