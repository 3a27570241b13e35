/**
 * Writes the comparison of Farebox with the reference as a document.
 *
 * @module
 */
import { type Compared, renderPaths } from "../bypass/document.js";
import type { ComparedFailure } from "../faults/compare/run.js";
import { renderFailures } from "../faults/compare/table.js";
import { type ComparedPage, renderPages } from "./pages.js";

/** What was compared. */
export interface Comparison {
  readonly failures: readonly ComparedFailure[];
  readonly paths: readonly Compared[];
  readonly pages: readonly ComparedPage[];
}

/** Versions of what was compared. */
export interface Versions {
  readonly reference: string;
  readonly farebox: string;
  readonly express: readonly [five: string, four: string];
  readonly node: string;
}

/** How the document is made, from the root of the repository. */
const COMMAND = "npx -y pnpm@10 compare";

/** Writes the document. */
export function renderComparison({ failures, paths, pages }: Comparison, versions: Versions): string {
  const [five, four] = versions.express;
  return `# Farebox and the reference, compared

How \`@farebox/express\` and the reference, \`@x402/express\`, behave in the same failures and on the same paths. One command
runs every row with both libraries and writes this page:

\`\`\`sh
${COMMAND}
\`\`\`

| | version |
|---|---|
| \`@x402/express\` | ${versions.reference} |
| \`@farebox/express\` | ${versions.farebox} |
| Express | ${five} and, for paths, ${four} |
| Node | ${versions.node} |

${renderFailures(failures)}
${renderPaths(paths)}
${renderPages(pages)}`;
}
