/** The generated file. */
export const NAMES_FILE: string;

/** What the generated file has to be. */
export function namesText(): string;
