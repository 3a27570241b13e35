import { describe, expect, test } from "vitest";
import { type Host, locateAnvil } from "./anvil.js";

function host(platform: string, arch: string, installed: readonly string[]): Host {
  return {
    platform,
    arch,
    resolve: (_from, specifier) => {
      if (!installed.includes(specifier)) throw new TypeError("not installed");
      return `/m/${specifier}`;
    },
  };
}

const WRAPPER = "@foundry-rs/anvil/package.json";

describe("locateAnvil", () => {
  test.each([
    ["linux", "x64", "linux-amd64", "anvil"],
    ["linux", "arm64", "linux-arm64", "anvil"],
    ["darwin", "x64", "darwin-amd64", "anvil"],
    ["darwin", "arm64", "darwin-arm64", "anvil"],
    ["win32", "x64", "win32-amd64", "anvil.exe"],
  ])("locateAnvil finds the binary for %s on %s", (platform, arch, suffix, name) => {
    const found = locateAnvil(host(platform, arch, [WRAPPER, `@foundry-rs/anvil-${suffix}/package.json`]));
    expect(found).toEqual({ file: `/m/@foundry-rs/anvil-${suffix}/bin/${name}`, args: [] });
  });

  test("locateAnvil returns the wrapper when the package of the platform is missing", () => {
    expect(locateAnvil(host("linux", "x64", [WRAPPER]))).toEqual({
      file: process.execPath,
      args: ["/m/@foundry-rs/anvil/bin.mjs"],
    });
  });

  test.each([
    ["the package is not installed", host("linux", "x64", []), /@foundry-rs\/anvil, which is not installed/],
    ["there is no binary for the platform", host("win32", "arm64", [WRAPPER]), /win32 on arm64/],
    ["the platform is unknown", host("sunos", "x64", [WRAPPER]), /sunos on x64/],
  ])("locateAnvil throws a LocalChainError when %s", (_why, where, message) => {
    expect(() => locateAnvil(where)).toThrow(
      expect.objectContaining({ code: "ERR_FAREBOX_LOCAL_CHAIN", message: expect.stringMatching(message) }),
    );
  });
});
