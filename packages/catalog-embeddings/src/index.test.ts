import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as embeddings from "@farebox/catalog-embeddings";
import { afterAll, expect, test } from "vitest";

const run = promisify(execFile);
const encoder = embeddings.sentenceEmbedder();
afterAll(() => encoder.close?.());

test("the public surface is exactly this", () => {
  expect(Object.keys(embeddings)).toEqual(["sentenceEmbedder"]);
});

test("a sentence is nearer to one of the same meaning than to others", async () => {
  const [question] = await encoder.embed(["do I need an umbrella today"], "query");
  const entries = await encoder.embed(
    ["Weather forecast for a city", "Chess moves", "Token balances of a wallet"],
    "entry",
  );
  const [weather = 0, ...others] = entries.map((entry) => cosine(question, entry));
  expect(weather).toBeGreaterThan(0.2);
  expect(Math.max(...others)).toBeLessThan(weather);
});

test("the least score grows with the number of entries, up to the number that was measured", () => {
  const leastOf = (entries: number) =>
    typeof encoder.minScore === "function" ? encoder.minScore(entries) : Number.NaN;
  const leasts = [0, 1, 72, 200, 321].map(leastOf);
  expect(leasts).toEqual(leasts.toSorted((one, other) => one - other));
  expect(leastOf(0)).toBeGreaterThanOrEqual(0);
  expect(leastOf(72)).toBeLessThan(leastOf(321));
  expect(leastOf(1e6)).toBe(leastOf(321));
});

test("a text in another language, gibberish and nothing get vectors of zeros", async () => {
  const texts = ["比特币价格", "wie spät ist es", "asdf qwer zxcv", "", " ", "\u0000", "\ud800", "?!"];
  const vectors = await encoder.embed(texts, "query");
  expect(vectors.map((vector) => Array.from(vector).some((number) => number !== 0))).toEqual(texts.map(() => false));
});

test("the beginning of a long text is embedded, and the rest costs nothing", async () => {
  const texts = ["weather ".repeat(2_000), "x".repeat(100_000), "😀".repeat(10_000)];
  const beginnings = texts.map((text) => text.slice(0, 1_000));
  expect(await encoder.embed(texts, "entry")).toEqual(await encoder.embed(beginnings, "entry"));
});

test("calls beyond the limit are refused, and the others are served", async () => {
  const calls = Array.from({ length: 65 }, () => encoder.embed(["weather"], "query"));
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.map(({ status }) => status)).toEqual([...Array(64).fill("fulfilled"), "rejected"]);
});

test("a call that waits is refused when the encoder is closed, and so is every later one", async () => {
  const other = embeddings.sentenceEmbedder();
  const waiting = other.embed(["weather"], "query");
  const refused = expect(waiting).rejects.toThrow("ended");
  await other.close?.();
  await refused;
  await expect(other.embed(["weather"], "query")).rejects.toThrow("closed");
});

test("the thread keeps no process alive, and a call that waits does", async () => {
  const script = `
    import { sentenceEmbedder } from "@farebox/catalog-embeddings";
    sentenceEmbedder().embed(["weather"], "query").then(([vector]) => console.log(vector.length));`;
  const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: new URL("../../..", import.meta.url).pathname,
  });
  expect({ stdout, stderr }).toEqual({ stdout: "512\n", stderr: "" });
});

test("who closes an encoder whose answer is on its way waits for its end", async () => {
  const texts = JSON.stringify(["weather", "chess", "tokens"]);
  const another = `
    import { sentenceEmbedder } from "@farebox/catalog-embeddings";
    await sentenceEmbedder().embed(${texts}, "entry");`;
  // Another process does the same and more while this one is blocked: then the thread has answered, and nobody has heard it.
  const script = `
    import { execFileSync } from "node:child_process";
    import { sentenceEmbedder } from "@farebox/catalog-embeddings";
    const encoder = sentenceEmbedder();
    await encoder.embed(["weather"], "query");
    encoder.embed(${texts}, "entry").catch(() => {});
    execFileSync(process.execPath, ["--input-type=module", "--eval", ${JSON.stringify(another)}]);
    await encoder.close();
    console.log("closed");`;
  const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: new URL("../../..", import.meta.url).pathname,
  });
  expect({ stdout, stderr }).toEqual({ stdout: "closed\n", stderr: "" });
});

function cosine(one: ArrayLike<number> = [], other: ArrayLike<number>): number {
  const dot = (a: ArrayLike<number>, b: ArrayLike<number>) =>
    Array.from(a).reduce((sum, number, at) => sum + number * (b[at] ?? 0), 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}
