/** Types of pack.mjs, for tests. */
export declare const ROOT: string;
export declare function listPackages(): { folder: string; manifest: { name: string } }[];
export declare function pack(
  folder: string,
  destination: string,
): Promise<{ tarball: string; bytes: number; files: string[] }>;
