/**
 * A signed refund in a file, until its outcome is known: whoever starts the command again sends the same transaction, and no second one.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { isJsonObject, parseJson } from "@farebox/core/protocol";
import { CliError } from "../../frame/cli-error.js";

/** A refund that is signed. */
export interface SignedRefund {
  /** Of the entry. */
  readonly id: string;
  readonly network: string;
  /** Atomic units, as digits. */
  readonly amount: string;
  readonly to: string;
  /** Known before it is sent. */
  readonly transaction: string;
  /** The signed transaction: hex, or base64 on Solana. */
  readonly raw: string;
}

/** Where the refund of an entry is kept: a file of this folder. */
export function savedPath(id: string): string {
  return resolve(`farebox-refund-${id}.json`);
}

/** A refund whose outcome is not known yet; `undefined`: there is none. @throws CliError if the file is damaged */
export function readSaved(id: string): SignedRefund | undefined {
  const path = savedPath(id);
  if (!existsSync(path)) return undefined;
  const parsed = parseJson(readFileSync(path, "utf8"));
  const value = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  const fields = ["id", "network", "amount", "to", "transaction", "raw"];
  if (fields.every((field) => typeof value[field] === "string") && value["id"] === id)
    return value as unknown as SignedRefund;
  const remedy = "Look on the chain whether the refund was made, then remove the file";
  throw new CliError("FAREBOX_CLI_REFUND", `${path} is damaged`, remedy);
}

/** Keeps a refund before it is sent. It is whole, and on the disk, when others see it. @throws CliError if another call keeps one */
export function save(refund: SignedRefund): void {
  const path = savedPath(refund.id);
  const draft = `${path}.${process.pid}-${randomUUID()}`;
  const file = openSync(draft, "wx", 0o600);
  try {
    writeSync(file, `${JSON.stringify(refund)}\n`);
    fsyncSync(file);
    linkSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    const remedy = "Wait until it ends, and look at the entry with farebox ledger export";
    throw new CliError("FAREBOX_CLI_REFUND", "another call gives this payment back right now", remedy, { cause });
  } finally {
    closeSync(file);
    rmSync(draft, { force: true });
  }
}

/** Forgets a refund whose outcome is known. */
export function forget(id: string): void {
  rmSync(savedPath(id), { force: true });
}
