/** Types of check-layers.mjs, for tests. */
export declare const WORKSPACE: string;
export declare function checkLayers(root: string): {
  readonly findings: readonly string[];
  readonly files: number;
  readonly entries: number;
};
