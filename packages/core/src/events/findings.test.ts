import { expect, test } from "vitest";
import { createFindings, type Finding } from "./findings.js";
import type { LogFields, Logger } from "./logger.js";

const UNREACHABLE: Finding = { code: "FAREBOX_KEY_UNREACHABLE", route: "GET /a", message: "m", remedy: "r" };

function createNotes() {
  const log: [level: string, event: string, fields: LogFields][] = [];
  const noteAt = (level: string) => (event: string, fields: LogFields) => void log.push([level, event, fields]);
  const logger: Logger = { info: noteAt("info"), warn: noteAt("warn"), error: noteAt("error") };
  return { log, findings: createFindings(logger) };
}

test("a finding is kept and logged as a warning once", () => {
  const { log, findings } = createNotes();
  for (let at = 0; at < 1_000; at++) findings.add({ ...UNREACHABLE });
  expect(findings.all).toEqual([UNREACHABLE]);
  expect(log).toEqual([["warn", "FAREBOX_KEY_UNREACHABLE", { route: "GET /a", message: "m", remedy: "r" }]]);
});

test("a finding about the server has no route", () => {
  const { log, findings } = createNotes();
  const finding: Finding = { ...UNREACHABLE, code: "FAREBOX_PROXY_IGNORED", route: undefined };
  findings.add(finding);
  findings.add(finding);
  expect(findings.all).toEqual([finding]);
  expect(log).toEqual([["warn", "FAREBOX_PROXY_IGNORED", { route: "", message: "m", remedy: "r" }]]);
});

test.each<[other: Partial<Finding>]>([
  [{ code: "FAREBOX_KEY_SHADOWED" }],
  [{ route: "GET /b" }],
  [{ route: undefined }],
  [{ message: "n" }],
])("a finding that differs in %j is kept separately", (other) => {
  const { log, findings } = createNotes();
  findings.add(UNREACHABLE);
  findings.add({ ...UNREACHABLE, ...other });
  findings.add(UNREACHABLE);
  expect(findings.all).toEqual([UNREACHABLE, { ...UNREACHABLE, ...other }]);
  expect(log).toHaveLength(2);
});

test("a list that was handed out does not grow", () => {
  const { findings } = createNotes();
  const before = findings.all;
  findings.add(UNREACHABLE);
  expect(before).toEqual([]);
});

test("tell logs a finding once and does not keep it", () => {
  const { log, findings } = createNotes();
  for (let at = 0; at < 3; at++) findings.tell({ ...UNREACHABLE });
  expect(findings.all).toEqual([]);
  findings.add(UNREACHABLE);
  expect(findings.all).toEqual([UNREACHABLE]);
  expect(log).toHaveLength(1);
});
