/**
 * Payments for load: each one distinct, and signed by its payer, because a seller may check signatures.
 *
 * To sign takes longer than to serve. So payloads are signed before a load begins, and kept in a file for the process that puts
 * the load on. Every server of the benchmark asks for the same terms, and none knows what another has been paid.
 *
 * @module
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPayer } from "@farebox/testing";
import { record } from "../recorded.js";

/** More than Farebox serves. */
export const PAYMENTS_PER_SECOND = 8_000;

/** Signed payloads that a child may take. */
export interface Slice {
  readonly file: string;
  readonly from: number;
  readonly count: number;
}

/** How many payers there are. */
const PAYERS = 64;

/** Longer than the benchmark takes. Farebox takes payments that are valid for up to an hour longer than it asks for. */
const VALID_MS = 3_000_000;

/** Signs payloads into a file, one in each line. */
export class SignedPayloads {
  readonly #folder = mkdtempSync(join(tmpdir(), "farebox-bench-"));
  readonly file: string = join(this.#folder, "payloads.jsonl");
  #count = 0;

  constructor() {
    process.once("exit", () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** Signs until there are so many. `payAt`: a URL that asks for the terms. */
  async ensure(count: number, payAt: string): Promise<void> {
    if (count <= this.#count) return;
    const { accepted } = await readTerms(payAt);
    const now = () => Date.now() + VALID_MS;
    const lines: string[] = [];
    for (; this.#count < count; this.#count++) {
      const payer = createPayer({ privateKey: hex((this.#count % PAYERS) + 1) });
      const { payload } = await payer.signExact(accepted, { nonce: hex(this.#count + 1), now });
      lines.push(`${JSON.stringify(payload)}\n`);
    }
    appendFileSync(this.file, lines.join(""));
  }
}

/** Reads payments for the first offer of a route: the values of `PAYMENT-SIGNATURE`. */
export async function readPayments(payAt: string, { file, from, count }: Slice): Promise<readonly string[]> {
  const terms = await readTerms(payAt);
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .slice(from, from + count);
  return lines.map((line) => {
    const payment = { x402Version: 2, payload: JSON.parse(line), ...terms };
    return Buffer.from(JSON.stringify(payment)).toString("base64");
  });
}

async function readTerms(payAt: string) {
  const { headers } = await record(payAt);
  const challenge = JSON.parse(Buffer.from(headers["payment-required"] ?? "", "base64").toString("utf8"));
  const { accepts, resource, extensions } = challenge;
  return { extensions, resource, accepted: accepts[0] };
}

function hex(value: number): `0x${string}` {
  return `0x${value.toString(16).padStart(64, "0")}`;
}
