/** Where files are kept that git ignores and from which the packages of the workspace can be imported. */
export const CACHE: string;

/** What is kept of the repository. */
export const PATHS: readonly string[];

/** Brings the files, unless they are there. Returns the folder that has them, or why they cannot be had. */
export function fetchReference(): Promise<
  { readonly folder: string; readonly reason?: undefined } | { readonly folder?: undefined; readonly reason: string }
>;
