/** Types of imports.mjs, for tests. */
export declare function walk(root: string): { folders: string[]; files: string[] };
export declare function importsOf(file: string): { name: string | undefined; how: "static" | "lazy" | "type" }[];
