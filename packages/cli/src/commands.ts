/**
 * The table of commands. Each is loaded when it is called, so that one command does not wait for what another needs.
 *
 * @module
 */
import type { CommandEntry } from "./frame/command.js";

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "doctor",
    summary: "Checks a server, or a file before it is deployed, as clients, facilitators and chains see it",
    load: () => import("./doctor/command.js"),
  },
  {
    name: "pay",
    summary: "Pays for a URL, at most so much, and shows each step",
    load: () => import("./pay/command.js"),
  },
  {
    name: "dev",
    summary: "Runs a chain, a facilitator and a catalog for your own server, and shows each request",
    load: () => import("./dev/command.js"),
  },
  {
    name: "init",
    summary: "Writes a first server that sells one route, and a test that pays for it",
    load: () => import("./init/command.js"),
  },
  {
    name: "openapi",
    summary: "Prints the OpenAPI document of a server, or of the file that makes its app",
    load: () => import("./openapi/command.js"),
  },
  {
    name: "catalog search",
    summary: "Searches the catalog of a facilitator for services, by meaning or by words",
    load: () => import("./catalog/command.js"),
  },
  {
    name: "ledger report",
    summary: "Reports what was sold, by route, payer, day or network",
    load: () => import("./ledger/report.js"),
  },
  {
    name: "ledger export",
    summary: "Exports entries as CSV or JSON lines",
    load: () => import("./ledger/export.js"),
  },
  {
    name: "ledger reconcile",
    summary: "Compares the ledger with the chain: each entry's transfer, and transfers that no entry has",
    load: () => import("./ledger/reconcile/command.js"),
  },
  {
    name: "ledger refund",
    summary: "Gives a payment back to its payer, on EVM networks and Solana, and writes it down",
    load: () => import("./ledger/refund/command.js"),
  },
  {
    name: "ledger mark",
    summary: "Writes down that a payment was given back, by a transaction that was made elsewhere",
    load: () => import("./ledger/mark.js"),
  },
  {
    name: "migrate",
    summary: "Moves a file from @x402/express to @farebox/compat",
    load: () => import("./migrate/command.js"),
  },
  {
    name: "completion",
    summary: "Prints a script by which a shell completes commands and options",
    load: () => import("./completion/command.js"),
  },
];
