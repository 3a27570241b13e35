/**
 * Paths of routes and mounts, made of pieces. A piece knows how each version of Express writes it, how a key may write it
 * and what it may stand for; so nothing here has to parse or match a path as the library does.
 *
 * @module
 */
import fc from "fast-check";

/** In whose words a path is written. */
export type Dialect = "Express 5" | "Express 4";

/** How a key is written. */
export interface Spelling {
  /** `[id]` for `:id`. */
  readonly brackets: boolean;
  /** `*` for `*rest`. Express 4 has no other. */
  readonly star: boolean;
}

/** One part of a path, most often a segment with its slash. `#` in a text keeps names of parameters apart. */
export interface Piece {
  readonly five: string;
  /** `undefined`: Express 4 has nothing like it. */
  readonly four: string | undefined;
  readonly brackets?: string;
  readonly star?: string;
  /** What a request may have in its place. The first is no word of another path; an optional part is left out first. */
  readonly samples: readonly string[];
  /** A regular expression for more than it stands for: what may be charged by accident of overlapping keys. */
  readonly loose: string;
}

export interface Path {
  readonly pieces: readonly Piece[];
  /** Written with a slash at the end. */
  readonly slash: boolean;
}

const text = (written: string, meant = written): Piece => ({
  five: `/${written}`,
  four: `/${written}`,
  samples: [`/${meant}`],
  loose: `/+${meant.replace(/[^\w]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)}`,
});

/** Few, so that routes overlap. */
const WORDS: readonly Piece[] = ["paid", "a", "free"].map((word) => text(word));

/** What encodings, cases of letters and escapes can be wrong about. */
const ODD_WORDS: readonly Piece[] = [
  ...["report", "B", "x.json", "a-b", "~u", "a%20b", "caf\u00e9", "\u03bc"].map((word) => text(word)),
  text("a\\:b", "a:b"),
  // Express 4 cannot have a parameter behind this.
  { ...text("\\(c\\)", "(c)"), four: undefined },
  text("e\\*", "e*"),
  text("d\\\\e", "d\\e"),
];

const PARAMETERS: readonly Piece[] = [
  { five: "/:p#", four: "/:p#", brackets: "/[p#]", samples: ["/s", "/paid", "/a.b", "/S-t"], loose: "/+[^/]+" },
  { five: "/v:p#", four: "/v:p#", samples: ["/v1", "/vs"], loose: "/+v[^/]+" },
  { five: "/:p#-:q#", four: "/:p#-:q#", samples: ["/s-t", "/a-b"], loose: "/+[^/]+-[^/]+" },
  { five: "/:p#.json", four: "/:p#.json", samples: ["/s.json", "/x.json"], loose: "/+[^/]+\\.json" },
];

const WILDCARD: Piece = { five: "/*s#", four: "/*", star: "/*", samples: ["/s", "/s/t", "/a/b/c"], loose: "(?:/.*)?" };

const OPTIONAL: readonly Piece[] = [
  { five: "{/:p#}", four: "/:p#?", samples: ["", "/s", "/paid"], loose: "(?:/+[^/]+)?" },
  { five: "{/opt}", four: undefined, samples: ["", "/opt"], loose: "(?:/+opt)?" },
  { five: "{.:p#}", four: undefined, samples: ["", ".json"], loose: "(?:\\.[^/]+)?" },
];

/** What a priced file, a page or a request below a mount is called. The first sample is what a key names. */
const below = (written: string, samples: readonly string[]): Path => ({
  pieces: [{ ...text(written), samples, loose: "(?:/.*)?" }],
  slash: false,
});

/** In a folder that is served, or asked of it. */
export const FILE = below("secret.txt", [
  ...["/secret.txt", "/", "", "/doc", "/doc.html", "/deep/secret.txt", "/deep", "/absent.txt"],
  ...["/%73ecret.txt", "/deep/../secret.txt", "//secret.txt", "/SECRET.txt", "/secret.txt/", "/index.html"],
]);

/** On a server that a proxy asks, which reads paths in its own way. */
export const RESOURCE = below("secret", [
  ...["/secret", "/other", "/x/../secret", "/%73ecret", "//secret", "/SECRET", "/./secret", "/secret/", "/%2573ecret"],
  ...["/x%2f..%2fsecret", "\\secret", ""],
]);

/** Below a handler that is mounted. */
export const CHILD = below("child", ["", "/child", "/child/of", "/"]);

export const EVERYTHING_BELOW: Path = { pieces: [{ ...WILDCARD, five: "/*below", four: "/*" }], slash: false };

/** Of the page of a site, and of all of its pages. */
export const PAGE: Path = {
  pieces: [{ five: "/:page", four: "/:page", samples: ["/home"], loose: "/+[^/]+" }],
  slash: false,
};

export const EVERYTHING: Path = { pieces: [{ ...WILDCARD, five: "/{*page}", four: "*" }], slash: false };

/** Whether a path can be a regular expression that Express gives a key's requests to. */
export function isPlainPath({ pieces }: Path): boolean {
  return pieces.length > 0 && pieces.every(({ samples }) => samples.every((sample) => /^[\w/.-]+$/.test(sample)));
}

/** How a path may begin: with what every request for it has, so that it begins with a slash as a key too. */
function beginnings(dialect: Dialect): fc.Arbitrary<Piece> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 4, arbitrary: fc.constantFrom(...WORDS) },
    { weight: 3, arbitrary: fc.constantFrom(...known(ODD_WORDS, dialect)) },
    { weight: 2, arbitrary: fc.constantFrom(...PARAMETERS) },
  );
}

function continuations(dialect: Dialect): fc.Arbitrary<Piece> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 3, arbitrary: fc.constantFrom(...WORDS) },
    { weight: 2, arbitrary: fc.constantFrom(...known(ODD_WORDS, dialect)) },
    { weight: 3, arbitrary: fc.constantFrom(...PARAMETERS) },
    { weight: 1, arbitrary: fc.constant(WILDCARD) },
    { weight: 1, arbitrary: fc.constantFrom(...known(OPTIONAL, dialect)) },
  );
}

function known(pieces: readonly Piece[], dialect: Dialect): readonly Piece[] {
  return pieces.filter(({ four }) => dialect === "Express 5" || four !== undefined);
}

/** Paths of routes; `depth` keeps their parameters apart from those of the mounts above. */
export function routePaths(dialect: Dialect, depth: number): fc.Arbitrary<Path> {
  const start = fc.oneof(
    { weight: 8, arbitrary: beginnings(dialect) },
    { weight: 1, arbitrary: fc.constant(WILDCARD) },
  );
  const pieces = fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(start, fc.array(continuations(dialect), { maxLength: 2 }))
        .map(([one, more]) => [one, ...more]),
    },
  );
  return paths(pieces, depth);
}

/** Paths of mounts: no wildcard, so that what is mounted can still be reached by its own paths. */
export function mountPaths(dialect: Dialect, depth: number): fc.Arbitrary<Path> {
  return paths(fc.array(beginnings(dialect), { minLength: 1, maxLength: 2 }), depth);
}

function paths(pieces: fc.Arbitrary<readonly Piece[]>, depth: number): fc.Arbitrary<Path> {
  const slash = fc.nat(7).map((chance) => chance === 7);
  return fc.record({ pieces, slash }).map((path) => ({
    slash: path.slash && path.pieces.length > 0,
    pieces: path.pieces.map((piece, at) => withNames(piece, `${depth}_${at}`)),
  }));
}

function withNames(piece: Piece, suffix: string): Piece {
  const named = (written: string) => written.replaceAll("#", suffix);
  return {
    ...piece,
    five: named(piece.five),
    four: piece.four === undefined ? undefined : named(piece.four),
    ...(piece.brackets === undefined ? {} : { brackets: named(piece.brackets) }),
  };
}

/** A chain of mounts and a route, as one path for `app.get` or `app.use`. */
export function writePath(chain: readonly Path[], dialect: Dialect): string {
  return write(chain, (piece) => writePiece(piece, dialect));
}

/** The same as a key has it: in the words of Express 5, on both versions. */
export function writeKeyPath(chain: readonly Path[], dialect: Dialect, spelling: Spelling): string {
  return write(chain, (piece, next) => {
    if (piece.star !== undefined && isStarred(next, dialect, spelling)) return piece.star;
    return piece.brackets !== undefined && spelling.brackets ? piece.brackets : piece.five;
  });
}

/** A route begins with a wildcard at most, and goes on with two. */
const MOST_STARS = 3;

/** All that a key stands for, for the router: each `*` may stand for nothing, not even for its slash. */
export function writeKeyRoutes(chain: readonly Path[], dialect: Dialect, spelling: Spelling): string[] {
  const written = Array.from({ length: 2 ** MOST_STARS }, (_, left) => {
    let stars = 0;
    const isLeft = () => (left >> stars++) % 2 === 1;
    return write(chain, (piece, next) => {
      const isNothing = piece.star !== undefined && isStarred(next, dialect, spelling) && isLeft();
      return isNothing ? "" : writePiece(piece, dialect);
    });
  });
  return [...new Set(written)].map((path) => (path === "" ? "/" : path));
}

/** Whether a wildcard is a segment by itself that a key can have as `*`, and does. */
function isStarred(next: Piece | undefined, dialect: Dialect, spelling: Spelling): boolean {
  return isSegment(next) && (spelling.star || dialect === "Express 4");
}

/** Whether what comes next begins another segment. */
function isSegment(next: Piece | undefined): boolean {
  return next === undefined || next.five.startsWith("/");
}

/** Whether a key can say it. Express 4 has no name for a wildcard, and a `*` is a segment by itself. */
export function hasKey({ pieces }: Path, dialect: Dialect, stars: boolean): boolean {
  return pieces.every(
    ({ star }, at) => dialect === "Express 5" || star === undefined || (stars && isSegment(pieces[at + 1])),
  );
}

function writePiece(piece: Piece, dialect: Dialect): string {
  return dialect === "Express 5" ? piece.five : (piece.four ?? piece.five);
}

function write(chain: readonly Path[], writeOne: (piece: Piece, next: Piece | undefined) => string): string {
  const pieces = chain.flatMap((path) => path.pieces);
  const written = pieces.map((piece, at) => writeOne(piece, pieces[at + 1]));
  return written.join("") + (chain.at(-1)?.slash === true || pieces.length === 0 ? "/" : "");
}

/** A path that a request could have; `pick` chooses among the values. */
export function samplePath(chain: readonly Path[], pick: number): string {
  const pieces = chain.flatMap((path) => path.pieces);
  const values = pieces.map(({ samples }, at) => samples[(pick + at) % samples.length] ?? "");
  return values.join("") + (chain.at(-1)?.slash === true ? "/" : "") || "/";
}

/** What a path says by itself, with sample values: with none, some or all of its optional parts. */
export function writtenOut(chain: readonly Path[]): readonly string[] {
  const pieces = chain.flatMap((path) => path.pieces);
  const texts = pieces.reduce<readonly string[]>(
    (before, { samples }) =>
      before.flatMap((text) => samples.slice(0, samples[0] === "" ? 2 : 1).map((one) => text + one)),
    [""],
  );
  return [...new Set(texts.map((text) => text || "/"))];
}

/** Every path that a request could have, as far as samples go. */
export function samplePaths(chain: readonly Path[]): readonly string[] {
  const picks = Math.max(1, ...chain.flatMap((path) => path.pieces.map(({ samples }) => samples.length)));
  return [...new Set(Array.from({ length: picks }, (_, pick) => samplePath(chain, pick)))];
}

/** The last path as a regular expression, without an end. */
export function toRegExp(path: Path): RegExp {
  return new RegExp(`^${path.pieces.map(({ loose }) => loose).join("")}`, "i");
}

/** Matches at least what the path and everything below it stand for. */
export function loosePrefix(chain: readonly Path[]): RegExp {
  return new RegExp(`^${chain.flatMap((path) => path.pieces.map(({ loose }) => loose)).join("")}`, "i");
}

/** Matches at least what the path stands for, in any case and with any slashes. */
export function loosePattern(chain: readonly Path[]): RegExp {
  return new RegExp(`^${chain.flatMap((path) => path.pieces.map(({ loose }) => loose)).join("")}/*$`, "i");
}
