import { describe, expect, test } from "vitest";
import { createStartLogger, describeThrown, type LogFields } from "./logger.js";

function printed(event: string, fields: LogFields, level: "info" | "warn" | "error" = "info"): readonly string[] {
  const lines: string[] = [];
  createStartLogger("development", (line) => void lines.push(line))[level](event, fields);
  return lines;
}

describe("the default logger", () => {
  test.each([undefined, "", "development"])("prints when NODE_ENV is %j", (environment) => {
    const lines: string[] = [];
    createStartLogger(environment, (line) => void lines.push(line)).info("priced", { route: "GET /a" });
    expect(lines).toEqual(["[farebox] priced · GET /a\n"]);
  });

  test.each(["production", "test", "staging", "Development", " "])(
    "prints errors and warnings, and nothing else, when NODE_ENV is %j",
    (environment) => {
      const lines: string[] = [];
      const logger = createStartLogger(environment, (line) => void lines.push(line));
      logger.info("priced", { route: "GET /a" });
      logger.warn("FAREBOX_KEY_UNREACHABLE", { route: "GET /a" });
      logger.error("decision_failed", { route: "GET /a" });
      expect(lines).toEqual(["[farebox] FAREBOX_KEY_UNREACHABLE · GET /a\n", "[farebox] decision_failed · GET /a\n"]);
    },
  );

  test.each<[event: string, fields: LogFields, line: string, why: string]>([
    ["priced", { route: "GET /a" }, "priced · GET /a", "a priced route"],
    [
      "FAREBOX_KEY_UNREACHABLE",
      { route: "GET /a", message: "m", remedy: "r" },
      "FAREBOX_KEY_UNREACHABLE · GET /a · m · r",
      "a finding",
    ],
    ["FAREBOX_PROXY_IGNORED", { route: "", message: "m" }, "FAREBOX_PROXY_IGNORED · m", "a finding without a route"],
    [
      "priced",
      { route: undefined, count: 0, ok: false },
      "priced · 0 · false",
      "only undefined and empty fields are left out",
    ],
    ["priced", {}, "priced", "no fields"],
  ])("prints %s with %j as %j: %s", (event, fields, line) => {
    const levels = event === "priced" ? (["info", "warn", "error"] as const) : (["warn", "error"] as const);
    for (const level of levels) expect(printed(event, fields, level)).toEqual([`[farebox] ${line}\n`]);
  });

  test.each(["payment_not_found", "priced_x", "xpriced", "FAREBOX_KEY_UNREACHABLE", ""])(
    "does not print %j as information",
    (event) => {
      expect(printed(event, { route: "GET /a" }, "info")).toEqual([]);
    },
  );
});

describe("information in production", () => {
  const open = (format?: "json") => {
    const lines: string[] = [];
    const logger = createStartLogger("production", (line) => void lines.push(line), {
      now: () => 0,
      ...(format && { format }),
    });
    return { lines, logger };
  };

  test("a facilitator that comes back is told of, and one that was never down is not", () => {
    const { lines, logger } = open();
    logger.info("facilitator_up", { facilitator: "a.example" });
    logger.error("facilitator_down", { facilitator: "a.example", code: "X" });
    logger.info("facilitator_up", { facilitator: "b.example" });
    logger.info("facilitator_up", { facilitator: "a.example" });
    logger.info("facilitator_up", { facilitator: "a.example" });
    expect(lines).toEqual(["[farebox] facilitator_down · a.example · X\n", "[farebox] facilitator_up · a.example\n"]);
  });

  test("a settlement that was recovered is told of", () => {
    const { lines, logger } = open();
    logger.info("settlement_recovered", { route: "GET /a", transaction: "0x1" });
    expect(lines).toEqual(["[farebox] settlement_recovered · GET /a · 0x1\n"]);
  });

  test("what a header leaves out is told of", () => {
    const { lines, logger } = open();
    for (let times = 0; times < 2; times++)
      logger.info("challenge_shortened", { route: "GET /a", leftOut: "examples" });
    expect(lines).toEqual(["[farebox] challenge_shortened · GET /a · examples\n"]);
  });

  test("a line of JSON has time, level and fields, and escapes what it quotes", () => {
    const { lines, logger } = open("json");
    logger.error("price_failed", { route: "GET /a", message: 'a "b"\n\u001b[31m', stack: undefined });
    expect(lines).toEqual([
      '{"time":"1970-01-01T00:00:00.000Z","level":"error","name":"farebox","event":"price_failed","route":"GET /a","message":"a \\"b\\"\\n\\u001b[31m"}\n',
    ]);
  });
});

describe("limits of the default logger", () => {
  const MINUTE_MS = 60_000;
  const open = () => {
    const time = { ms: 0 };
    const lines: string[] = [];
    const logger = createStartLogger("production", (line) => void lines.push(line), { now: () => time.ms });
    return { time, lines, logger };
  };

  test("the same line is printed once an hour", () => {
    const { time, lines, logger } = open();
    for (let minute = 0; minute < 60; minute++) {
      time.ms = minute * MINUTE_MS;
      logger.error("decision_failed", { route: "GET /a" });
    }
    expect(lines).toHaveLength(1);
    time.ms = 60 * MINUTE_MS;
    logger.error("decision_failed", { route: "GET /a" });
    expect(lines[1]).toBe("[farebox] decision_failed · GET /a · 59 such lines left out before\n");
  });

  test("an event has five lines a minute, and no other event fewer for it", () => {
    const { time, lines, logger } = open();
    for (let payer = 0; payer < 1_000; payer++) logger.error("settlement_unknown", { payer: `0x${payer}` });
    logger.warn("price_above_client_limit", { route: "GET /a" });
    expect(lines).toHaveLength(6);
    time.ms = MINUTE_MS;
    logger.error("settlement_unknown", { payer: "another" });
    expect(lines[6]).toContain("995 such lines left out before");
  });

  test("every finding is printed, however many there are", () => {
    const { lines, logger } = open();
    for (let key = 0; key < 20; key++) logger.warn("FAREBOX_KEY_UNREACHABLE", { route: `GET /${key}` });
    expect(lines).toHaveLength(20);
  });
});

describe("what was thrown", () => {
  test("a text of several lines is one legible line, and its stack has frames only", () => {
    const thrown = new RangeError("no\u001b[31m rate\nfor https://key@rates.example");
    const { error, message, stack } = describeThrown(thrown);
    expect([error, message]).toEqual(["RangeError", "no [31m rate for (a URL)"]);
    expect(stack).toContain("logger.test.ts");
    expect(
      stack
        .split("\n")
        .slice(1)
        .every((line) => line.startsWith("    at ")),
    ).toBe(true);
  });

  test.each<[thrown: unknown]>([
    [undefined],
    [null],
    [7],
    ["text"],
    [Object.assign(new Error("x"), { stack: 5, message: Symbol("x") })],
    [
      new Proxy(new Error("x"), {
        get: () => {
          throw new Error("y");
        },
      }),
    ],
  ])("describing never throws", (thrown) => {
    const { error, message, stack } = describeThrown(thrown);
    expect([typeof error, typeof message, typeof stack]).toEqual(["string", "string", "string"]);
  });
});
