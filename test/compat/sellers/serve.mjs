/**
 * Serves every seller of this folder, with the imports of each side, and says where: `node serve.mjs <folder for copies>`.
 *
 * @module
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const COMPAT = "@farebox/compat";

/** What each side writes in place of the reference's packages. */
const SIDES = {
  reference: (specifier) => specifier,
  "depth 1": (specifier) => (specifier === "@x402/express" ? COMPAT : specifier),
  "depth 2": (specifier) => (specifier === "@x402/express" ? COMPAT : specifier.replace("@x402", COMPAT)),
};

const [folder] = process.argv.slice(2);
const names = readdirSync(HERE).filter((name) => /\.(mjs|cjs)$/.test(name) && name !== "serve.mjs");
const served = {};
for (const side of Object.keys(SIDES)) {
  const copies = join(folder, side.replace(" ", "-"));
  mkdirSync(copies, { recursive: true });
  const places = await Promise.all(names.map(async (name) => [name, await serve(name, { side, copies })]));
  served[side] = Object.fromEntries(places);
}
process.send(served);
// Its test has ended.
process.on("disconnect", () => process.exit());

async function serve(name, { side, copies }) {
  const text = readFileSync(join(HERE, name), "utf8").replace(
    /"(@x402\/[^"]+)"/g,
    (_, found) => `"${SIDES[side](found)}"`,
  );
  const copy = join(copies, name);
  writeFileSync(copy, text);
  const loaded = await import(pathToFileURL(copy).href);
  const { app, ready, ...exported } = loaded.default?.app === undefined ? loaded : loaded.default;
  await ready;
  return {
    url: await listen(app),
    exports: await listen((_req, res) => res.end(JSON.stringify(live(loaded)))),
    names: Object.keys(exported),
  };
}

/** Values as they are now: those of a module change. */
function live(loaded) {
  return Object.fromEntries(Object.entries(loaded).filter(([, value]) => typeof value !== "function"));
}

function listen(handler) {
  return new Promise((resolve) => {
    const server = createServer(handler).listen(0, "127.0.0.1", () => {
      resolve(`http://127.0.0.1:${server.address().port}`);
    });
  });
}
