import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**"],
    // No retries: a test that fails once has found something.
    retry: 0,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
