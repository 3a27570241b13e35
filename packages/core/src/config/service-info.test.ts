import { describe, expect, test } from "vitest";
import { createIssues } from "../issues.js";
import { isPublicWithoutTls } from "../pricing/resource.js";
import { parseServiceInfo } from "./service-info.js";

function parse(given: Record<string, unknown>) {
  const issues = createIssues();
  return { info: parseServiceInfo(given, "options", issues), paths: issues.found.map(({ path }) => path) };
}

describe("service info for catalogs", () => {
  test("service info is kept as the seller wrote it", () => {
    const given = { serviceName: "W".repeat(32), tags: ["a", "b", "c", "d", "~"], iconUrl: "https://a.example/i.png" };
    expect(parse(given)).toEqual({ info: given, paths: [] });
    expect(parse({ tags: [] })).toEqual({ info: {}, paths: [] });
  });

  test.each<[key: string, value: unknown]>([
    ["serviceName", ""],
    ["serviceName", "W".repeat(33)],
    ["serviceName", "Wetter für alle"],
    ["serviceName", "a\nb"],
    ["serviceName", 7],
    ["tags", "weather"],
    ["tags", ["a", "b", "c", "d", "e", "f"]],
    ["tags", [""]],
    ["tags", [null]],
    ["iconUrl", "icon.png"],
    ["iconUrl", "data:image/png;base64,AAAA"],
    ["iconUrl", "https://user:secret@a.example/i.png"],
    ["iconUrl", `https://a.example/${"i".repeat(2048)}`],
    ["iconUrl", "https://127.0.0.1/i.png"],
    ["iconUrl", "https://2130706433/i.png"],
    ["iconUrl", "https://[::1]/i.png"],
    ["iconUrl", "https://localhost/i.png"],
    ["iconUrl", "https://ｌｏｃａｌｈｏｓｔ/i.png"],
    ["iconUrl", "https://a.example/\u0000"],
  ])("service info has an issue for %s %j", (key, value) => {
    expect(parse({ [key]: value })).toEqual({ info: {}, paths: [`options.${key}`] });
  });
});

test.each<[url: string, isPublic: boolean]>([
  ["http://api.example.com/weather", true],
  ["http://api.example.com:8080", true],
  ["http://203.0.113.7/", true],
  ["http://[2001:db8::1]/", true],
  ["http://[::ffff:8.8.8.8]/", true],
  ["http://[::ffff:10.0.0.8]/", false],
  ["https://api.example.com/", false],
  ["http://localhost:3000/", false],
  ["http://127.0.0.1:3000/", false],
  ["http://[::1]:3000/", false],
  ["http://10.1.2.3/", false],
  ["http://172.20.0.1/", false],
  ["http://172.32.0.1/", true],
  ["http://192.168.0.1/", false],
  ["http://[fd00::1]/", false],
  ["http://box.local/", false],
  ["http://intranet/", false],
  ["http://[", false],
])("isPublicWithoutTls says for %s: %j", (url, isPublic) => {
  expect(isPublicWithoutTls(url)).toBe(isPublic);
});
