import { describe, expect, test } from "vitest";
import type { RegisteredRoute } from "../route/router-view.js";
import { nearest } from "./inspect-routes.js";

function routeAt(path: string | undefined): RegisteredRoute {
  return { route: {}, path, methods: ["GET"], gates: [] };
}

function nearestPath(key: string, ...paths: readonly (string | undefined)[]): string | undefined {
  return nearest({ key, method: undefined }, paths.map(routeAt))?.path;
}

describe("the nearest route", () => {
  test.each<[key: string, path: string, why: string]>([
    ["GET /weather", "/weather", "the same path by another method"],
    ["/weather", "/weather", "a key without a method"],
    ["GET /weather", "/Weather/", "case and a slash at the end"],
    ["GET /", "/", "the root"],
    ["GET /users/:id", "/users/:userId", "the name of a parameter"],
    ["GET /users/[id]", "/users/:id", "brackets"],
    ['GET /users/:"a b"', '/users/:"a b"', "a quoted name, letter for letter"],
    ["GET /f/*rest", "/f/:id", "a wildcard in place of a parameter"],
    ["GET /weather", "/wether", "a letter less"],
    ["GET /wether", "/weather", "a letter more"],
    ["GET /weather", "/wheather", "a letter too much"],
    ["GET /weather", "/waether", "two letters changed places"],
    ["GET /abcdefg", "/xycdefg", "two other letters"],
    ["GET /news", "/nows", "one letter of five"],
    ["GET /weather", "/api/weather", "a mount that the key leaves out"],
    ["GET /api/weather", "/weather", "a mount that the route leaves out"],
  ])("to %s is %s: %s", (key, path) => {
    expect(nearestPath(key, "/something/else", path)).toBe(path);
  });

  test.each<[key: string, path: string | undefined, why: string]>([
    ["GET /weather", "/feathered", "three letters are another word"],
    ["GET /weather", "/weather123", "three more"],
    ["GET /weather123", "/weather", "three less"],
    ["GET /ab", "/ac", "one letter of so few"],
    ["GET /abcde", "/abcxy", "two letters of so few"],
    ["GET /weather", "/", "the root is no path without a mount"],
    ["GET /", "/weather", "nor is it below one"],
    ["GET /weather", "/bad-weather", "what ends in the same letters ends in another segment"],
    ["GET /weather", undefined, "a path that cannot be told"],
    [`GET /${"a".repeat(200)}`, `/${"a".repeat(199)}b`, "a path too long to be compared"],
  ])("to %s is not %s: %s", (key, path) => {
    expect(nearestPath(key, path)).toBeUndefined();
  });

  test("may be as long as two hundred signs", () => {
    expect(nearestPath(`GET /${"a".repeat(199)}`, `/${"a".repeat(198)}b`)).toBe(`/${"a".repeat(198)}b`);
  });

  test("is the nearest of several, and of equals the first", () => {
    expect(nearestPath("GET /weather", "/waether", "/api/weather", "/WEATHER")).toBe("/WEATHER");
    expect(nearestPath("GET /weather", "/waether", "/wether")).toBe("/wether");
    expect(nearestPath("GET /weather", "/weathe", "/wether")).toBe("/weathe");
  });

  test("is none when there are none", () => {
    expect(nearestPath("GET /weather")).toBeUndefined();
  });
});
