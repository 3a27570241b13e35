import { describe, expect, test } from "vitest";
import { createStartLogger, type LogFields, SILENT } from "./logger.js";

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

  test.each(["production", "test", "staging", "Development", " "])("is silent when NODE_ENV is %j", (environment) => {
    expect(createStartLogger(environment, () => {})).toBe(SILENT);
  });

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
    for (const level of ["info", "warn", "error"] as const) {
      expect(printed(event, fields, level)).toEqual([`[farebox] ${line}\n`]);
    }
  });

  test.each(["decision_failed", "priced_x", "xpriced", "farebox_x", "FAREBOX_", "FAREBOX_a", "x FAREBOX_A", ""])(
    "does not print %j",
    (event) => {
      expect(printed(event, { route: "GET /a" }, "error")).toEqual([]);
    },
  );
});
