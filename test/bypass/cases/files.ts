/**
 * Priced files and priced proxies. They decode and resolve a path by themselves. So all that reaches a mount is priced, however
 * it is written. At the top of an app only some requests are: those that a file server or a proxy may read as a key's path.
 *
 * @module
 */
import { type Case, casesOf, files, get, proxy, router, type Step, table, VAIN } from "../case.js";

/** One priced file in a folder that is otherwise free. */
const ONE_FILE: readonly Case[] = casesOf({ app: [table(), files("/")], keys: ["GET /files/secret.txt"] }, [
  ["file", "GET /files/secret.txt", "priced", "A file by its path."],
  ["file-head", "HEAD /files/secret.txt", "priced", "Files answer HEAD."],
  ["file-slash", "GET /files/secret.txt/", "priced", "A key does not mind a trailing slash.", VAIN],
  ["file-capitals", "GET /FILES/SECRET.TXT", "priced", "Some file systems do not tell case.", VAIN],
  ["file-query", "GET /files/secret.txt?a", "priced", "With a query."],
  ["file-fragment", "GET /files/secret.txt#a", "priced", "With a fragment."],
  ["file-absolute-form", "GET http://a.example/files/secret.txt", "priced", "In absolute form."],
  ["file-free", "GET /public.txt", "free", "A file that no key names."],
  ["file-free-encoded", "GET /publ%69c.txt", "free", "However it is written."],
  ["file-absent", "GET /absent.txt", "not found", "A file that is not there."],
  ["file-broken-escape", "GET /%zz", "not found", "No file has such a path."],
  ["file-dots", "GET /x/../files/secret.txt", "priced", "The file server resolves dot segments."],
  ["file-dots-encoded", "GET /x/%2e%2e/files/secret.txt", "priced", "And decodes them first."],
  ["file-dots-capitals", "GET /x/%2E%2E/files/secret.txt", "priced", "In capitals too."],
  ["file-dots-half-encoded", "GET /x/%2e./files/secret.txt", "priced", "Or one of the two."],
  ["file-dots-other-half", "GET /x/.%2e/files/secret.txt", "priced", "Or the other."],
  ["file-dots-slash", "GET /x/..%2ffiles/secret.txt", "priced", "With an encoded slash."],
  ["file-dots-slashes", "GET /x%2f..%2ffiles%2fsecret.txt", "priced", "With nothing but encoded slashes."],
  ["file-dots-backslash", "GET /x/..%5cfiles/secret.txt", "priced", "With an encoded backslash.", VAIN],
  ["file-dots-raw-backslash", "GET /x\\..\\files\\secret.txt", "priced", "With backslashes.", VAIN],
  ["file-dots-twice-encoded", "GET /x/%252e%252e/files/secret.txt", "priced", "Encoded twice.", VAIN],
  ["file-dots-absolute-form", "GET http://a.example/x/../files/secret.txt", "priced", "In absolute form."],
  ["file-dot", "GET /./files/secret.txt", "priced", "A single dot."],
  ["file-dot-encoded", "GET /%2e/files/secret.txt", "priced", "A single dot, encoded."],
  ["file-dot-inside", "GET /files/./secret.txt", "priced", "A single dot between."],
  ["file-up-and-down", "GET /files/deep/../secret.txt", "priced", "Out of a folder that is there."],
  ["file-above-root", "GET /../files/secret.txt", "priced", "From above the root.", VAIN],
  ["file-letter", "GET /%66iles/secret.txt", "priced", "An encoded letter in the folder's name."],
  ["file-letter-last", "GET /files/secret.tx%74", "priced", "An encoded letter in the file's name."],
  ["file-letter-dot", "GET /files/secret%2etxt", "priced", "An encoded dot in the file's name."],
  ["file-letter-head", "HEAD /%66iles/secret.txt", "priced", "For HEAD too."],
  ["file-letter-query", "GET /%66iles/secret.txt?a=1", "priced", "With a query."],
  ["file-leading-slashes", "GET //files/secret.txt", "priced", "The file server merges slashes."],
  ["file-three-slashes", "GET ///files/secret.txt", "priced", "Any number of them."],
  ["file-inner-slashes", "GET /files//secret.txt", "priced", "Between segments too."],
  ["file-encoded-slash", "GET /files%2fsecret.txt", "priced", "It decodes slashes."],
  ["file-encoded-slash-capital", "GET /files%2Fsecret.txt", "priced", "In capitals too."],
  ["file-backslash", "GET /files\\secret.txt", "priced", "A backslash separates on some systems.", VAIN],
  ["file-encoded-backslash", "GET /files%5Csecret.txt", "priced", "Encoded too.", VAIN],
  ["file-nul", "GET /files/secret.txt%00", "priced", "NUL ends a path on some systems.", VAIN],
]);

/** A folder that is priced as a whole. */
const FOLDER: readonly Case[] = [
  ...casesOf(
    { app: [table(), files("/files", "files")], keys: ["GET /files/*path"], referenceKeys: ["GET /files/*"] },
    [
      ["folder-file", "GET /files/secret.txt", "priced", "A file below the priced mount."],
      ["folder-deep", "GET /files/deep/secret.txt", "priced", "Deeper too."],
      ["folder-head", "HEAD /files/secret.txt", "priced", "For HEAD too."],
      ["folder-capitals", "GET /FILES/secret.txt", "priced", "A mount does not tell case."],
      ["folder-letter", "GET /files/%73ecret.txt", "priced", "An encoded letter stays below the key."],
      ["folder-three-dots", "GET /files/a...", "priced", "Dots at the end of a name are part of it."],
      ["folder-dots-in-name", "GET /files/a..b", "priced", "So are dots within it."],
      ["folder-dots", "GET /files/deep/../secret.txt", "priced", "Dot segments."],
      ["folder-dots-encoded", "GET /files/deep/%2e%2e/secret.txt", "priced", "Encoded."],
      ["folder-dots-half-encoded", "GET /files/deep/%2e./secret.txt", "priced", "Half encoded."],
      ["folder-dots-slash", "GET /files/deep%2f..%2fsecret.txt", "priced", "With encoded slashes."],
      ["folder-dots-backslash", "GET /files/deep/..%5csecret.txt", "priced", "With an encoded backslash.", VAIN],
      ["folder-dots-twice-encoded", "GET /files/deep/%252e%252e/secret.txt", "priced", "Encoded twice.", VAIN],
      ["folder-dots-last", "GET /files/deep/..", "priced", "At the end.", VAIN],
      ["folder-dot", "GET /files/./secret.txt", "priced", "A single dot."],
      ["folder-dot-encoded", "GET /files/%2e/secret.txt", "priced", "A single dot, encoded."],
      ["folder-slashes", "GET /files//secret.txt", "priced", "An empty segment."],
      ["folder-encoded-slash", "GET /files/deep%2fsecret.txt", "priced", "An encoded slash."],
      ["folder-backslash", "GET /files/deep\\secret.txt", "priced", "A backslash.", VAIN],
      ["folder-encoded-backslash", "GET /files/deep%5Csecret.txt", "priced", "Encoded.", VAIN],
      ["folder-nul", "GET /files/secret.txt%00", "priced", "NUL.", VAIN],
    ],
  ),
  ...casesOf({ app: [table(), files("/files", "files")], keys: ["GET /files/*"] }, [
    ["folder-index", "GET /files/", "priced", "A folder's own page is below a key with a bare star."],
    ["folder-star-file", "GET /files/deep/secret.txt", "priced", "As are its files."],
    ["folder-star-dots", "GET /files/deep/../secret.txt", "priced", "Dot segments."],
  ]),
  ...casesOf({ app: [table("/files"), files("/files", "files")], keys: ["GET /*path"], referenceKeys: ["GET /*"] }, [
    ["folder-relative-key", "GET /files/secret.txt", "priced", "A table mounted with the files, with a relative key."],
    ["folder-relative-key-dots", "GET /files/deep/../secret.txt", "priced", "Dot segments."],
    ["folder-relative-key-slashes", "GET /files//secret.txt", "priced", "An empty segment."],
  ]),
  ...casesOf(
    {
      app: [table(), router("/api", files("/files", "files"))],
      keys: ["GET /api/files/*path"],
      referenceKeys: ["GET /api/files/*"],
    },
    [
      ["folder-in-router", "GET /api/files/secret.txt", "priced", "Files in a router."],
      ["folder-in-router-dots", "GET /api/files/deep/../secret.txt", "priced", "Dot segments."],
      ["folder-in-router-slashes", "GET /api/files//secret.txt", "priced", "An empty segment."],
      [
        "folder-in-router-mount-slashes",
        "GET /api//files/secret.txt",
        "priced",
        "One that a mount swallows.",
        { on: [4] },
      ],
    ],
  ),
  ...casesOf({ app: [table(), get("/files/:name"), files("/")], keys: ["GET /files/:name"] }, [
    ["folder-behind-route", "GET /files/secret.txt", "priced", "A route before the files."],
    ["folder-behind-route-letter", "GET /%66iles/secret.txt", "priced", "The files get what the route does not."],
    ["folder-behind-route-slashes", "GET //files/secret.txt", "priced", "So they do with slashes."],
  ]),
];

const UP: readonly Step[] = [table(), proxy("/up"), get("/free")];

/** A priced mount that another server stands behind. */
const PROXY: readonly Case[] = [
  ...casesOf({ app: UP, keys: ["GET /up/*path"], referenceKeys: ["GET /up/*"] }, [
    ["proxy-by-method", "GET /up/secret", "priced", "A key may name the method of a proxy."],
    ["proxy-by-method-head", "HEAD /up/secret", "priced", "GET covers HEAD."],
    ["proxy-other-method", "POST /up/secret", "priced", "The proxy has one price, by any method."],
    ["proxy-other-method-options", "OPTIONS /up/secret", "preflight", "OPTIONS does not reach it."],
  ]),
  ...casesOf({ app: UP, keys: ["/up"] }, [
    ["proxy-mount", "GET /up", "priced", "The mount itself."],
    ["proxy-mount-slash", "POST /up/", "priced", "With a slash, by any method."],
    ["proxy-mount-dot", "GET /up/.", "priced", "A dot behind it."],
    ["proxy-mount-dots", "GET /up/x/..", "priced", "Dots that lead back to it."],
    ["proxy-mount-slashes", "GET /up//", "priced", "An empty segment behind it."],
  ]),
  ...casesOf({ app: UP, keys: ["/up/*path"], referenceKeys: ["/up/*"] }, [
    ["proxy", "GET /up/secret", "priced", "A path below the priced mount."],
    ["proxy-post", "POST /up/secret", "priced", "By any method."],
    ["proxy-letter", "GET /up/%73ecret", "priced", "An encoded letter stays below the key."],
    ["proxy-slash", "GET /up/secret/", "priced", "A trailing slash is no empty segment."],
    ["proxy-beside", "GET /free", "free", "What is beside the mount."],
    ["proxy-dots", "GET /up/x/../secret", "priced", "The other server may resolve dot segments."],
    ["proxy-dots-out", "GET /up/../admin", "priced", "Out of the mount."],
    ["proxy-dots-encoded", "GET /up/%2e%2e/admin", "priced", "Encoded."],
    ["proxy-dots-half-encoded", "GET /up/%2e./admin", "priced", "Half encoded."],
    ["proxy-dots-slash", "GET /up/..%2fadmin", "priced", "With an encoded slash."],
    ["proxy-dots-backslash", "GET /up/..%5cadmin", "priced", "With an encoded backslash."],
    ["proxy-dots-twice-encoded", "GET /up/%252e%252e/admin", "priced", "Encoded twice."],
    ["proxy-dots-matrix", "GET /up/..;/admin", "priced", "Dots with matrix parameters are a name."],
    ["proxy-dot", "GET /up/./secret", "priced", "A single dot."],
    ["proxy-slashes", "GET /up//secret", "priced", "An empty segment."],
    ["proxy-encoded-slash", "GET /up/a%2fb", "priced", "An encoded slash."],
    ["proxy-backslash", "GET /up/a\\b", "priced", "A backslash."],
    ["proxy-encoded-backslash", "GET /up/a%5cb", "priced", "Encoded."],
    ["proxy-nul", "GET /up/a%00b", "priced", "NUL."],
  ]),
  ...casesOf({ app: [table(), proxy("/")], keys: ["/secret"] }, [
    ["proxy-one-path", "GET /secret", "priced", "One priced path of a server that is otherwise free."],
    ["proxy-one-path-free", "GET /public", "free", "The rest of it."],
    ["proxy-one-path-dots", "GET /x/../secret", "priced", "Dot segments that lead to it."],
    ["proxy-one-path-dots-encoded", "GET /x/%2e%2e/secret", "priced", "Encoded."],
    ["proxy-one-path-dots-half-encoded", "GET /x/%2e./secret", "priced", "Half encoded."],
    ["proxy-one-path-dots-slash", "GET /x/..%2fsecret", "priced", "With an encoded slash."],
    ["proxy-one-path-dots-backslash", "GET /x/..%5csecret", "priced", "With an encoded backslash."],
    ["proxy-one-path-dots-twice-encoded", "GET /x/%252e%252e/secret", "priced", "Encoded twice."],
    ["proxy-one-path-letter", "GET /s%65cret", "priced", "An encoded letter."],
    ["proxy-one-path-slashes", "GET //secret", "priced", "A key without a route of its own is priced in any spelling."],
    ["proxy-one-path-encoded-slash", "GET /%2fsecret", "priced", "An encoded slash at the start."],
    ["proxy-one-path-backslash", "GET /\\secret", "priced", "A backslash at the start."],
    ["proxy-one-path-dots-behind", "GET /secret/.", "priced", "A dot at the end."],
  ]),
];

export const FILE_CASES: readonly Case[] = [...ONE_FILE, ...FOLDER, ...PROXY];
