/**
 * The page of the doctor has a heading for each of its codes. `vitest -u` writes it anew.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { DIAGNOSES } from "../../../packages/cli/src/doctor/diagnoses.js";
import { ROOT } from "../../docs/markdown.js";

const INTRODUCTION = `# farebox doctor

\`farebox doctor\` checks a server, or a file before it is deployed, as clients, facilitators and chains see it.

\`\`\`sh
npx farebox doctor https://api.example.com
npx farebox doctor server.mjs --processes 4
npx farebox doctor https://api.example.com --facilitator https://x402.org/facilitator --rpc eip155:84532=https://sepolia.base.org
\`\`\`

A URL is one of a priced route, of an OpenAPI document, or of a server with \`/.well-known/x402\` or \`/openapi.json\`. A file exports the Express app as \`app\` and
the result of \`createPayments()\` as \`payments\`, or the arguments of both as \`options\` and \`routes\`. Its findings are those of \`payments.report()\`, too: they
have their own codes, explained in [errors](errors.md#findings).

No payment is made. Each route gets about ten requests: without a payment, with one that nobody signed, by other spellings of its path. A path parameter is asked
as \`1\`. The exit code is 1 if there is an error, and 0 for warnings and notes. \`--json\` prints the same for programs.
`;

const LEVELS = {
  error: "Money or requests are lost.",
  warning: "Some clients cannot pay, or pay too little.",
  note: "Good to know.",
} as const;

test("docs/reference/doctor.md explains every code", async () => {
  const sections = (["error", "warning", "note"] as const).map((level) => {
    const kinds = Object.entries(DIAGNOSES).filter(([, [each]]) => each === level);
    const headings = kinds.map(
      ([name, [, meaning, remedy]]) => `### FAREBOX_DOCTOR_${name}\n\n**Cause:** ${meaning}.\n\n**Fix:** ${remedy}.\n`,
    );
    return [`## Codes of level ${level}\n\n${LEVELS[level]}\n`, ...headings].join("\n");
  });
  await expect([INTRODUCTION, ...sections].join("\n")).toMatchFileSnapshot(join(ROOT, "docs/reference/doctor.md"));
});
