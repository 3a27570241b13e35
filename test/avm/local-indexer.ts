/**
 * A stand-in for Algorand's indexer: those responses of its REST interface that tell the history of an account. It reads the
 * chain of the stand-in for a node. A test reads it with `algosdk`'s own client, too.
 *
 * @module
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Landed, LocalAlgod } from "./local-algod.js";

export class LocalIndexer {
  /** Pages are short, so that tests see several. */
  static readonly PAGE = 2;
  readonly asked: string[] = [];
  /** What programs moved, as inner transactions of calls. */
  readonly calls: object[] = [];
  readonly #algod: LocalAlgod;
  readonly #server: Server;

  private constructor(algod: LocalAlgod) {
    this.#algod = algod;
    this.#server = createServer((req, res) => {
      this.asked.push(req.url ?? "");
      const said = this.#respond(new URL(req.url ?? "", "http://indexer"));
      res.statusCode = said === undefined ? 404 : 200;
      res.setHeader("content-type", "application/json").end(JSON.stringify(said ?? { message: "not found" }));
    });
  }

  static async start(algod: LocalAlgod): Promise<LocalIndexer> {
    const local = new LocalIndexer(algod);
    await new Promise<void>((resolve) => local.#server.listen(0, "127.0.0.1", resolve));
    return local;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #respond({ pathname, searchParams }: URL): object | undefined {
    const { round } = this.#algod.ledger;
    if (pathname === "/health")
      return { round, version: "3.0.0", message: `${round}`, "db-available": true, "is-migrating": false };
    if (pathname === `/v2/blocks/${round}`)
      return { round, "genesis-hash": this.#algod.genesisHash.toString("base64") };
    const all = [...this.#algod.history.map(writeTransfer), ...this.calls];
    const [, id] = /^\/v2\/transactions\/([A-Z2-7]{52})$/.exec(pathname) ?? [];
    if (id !== undefined) {
      const transaction = all.find((each) => (each as { id: string }).id === id);
      return transaction && { "current-round": round, transaction };
    }
    const [, account] = /^\/v2\/accounts\/([A-Z2-7]{58})\/transactions$/.exec(pathname) ?? [];
    if (account === undefined) return undefined;
    const own = all.filter((each) => {
      const text = JSON.stringify(each);
      const seconds = (each as { "round-time": number })["round-time"];
      const isBefore = seconds * 1000 < Date.parse(searchParams.get("after-time") ?? "1970");
      const isAround = !isBefore && !(seconds * 1000 >= Date.parse(searchParams.get("before-time") ?? "2100"));
      return isAround && text.includes(account) && text.includes(`"asset-id":${searchParams.get("asset-id")}`);
    });
    const from = Number(searchParams.get("next") ?? 0);
    const limit = Math.min(LocalIndexer.PAGE, Number(searchParams.get("limit")));
    const transactions = own.slice(from, from + limit);
    return {
      "current-round": round,
      transactions,
      ...(transactions.length > 0 ? { "next-token": `${from + limit}` } : {}),
    };
  }
}

function writeTransfer({ txn, round, atMs }: Landed): object {
  const { assetTransfer, sender, fee, firstValid, lastValid, genesisHash } = txn;
  return {
    id: txn.txID(),
    sender: sender.toString(),
    fee: Number(fee),
    "first-valid": Number(firstValid),
    "last-valid": Number(lastValid),
    "confirmed-round": round,
    "round-time": Math.floor(atMs / 1000),
    "genesis-hash": Buffer.from(genesisHash ?? []).toString("base64"),
    "tx-type": txn.type,
    ...(assetTransfer === undefined
      ? {}
      : {
          "asset-transfer-transaction": {
            "asset-id": Number(assetTransfer.assetIndex),
            amount: Number(assetTransfer.amount),
            receiver: assetTransfer.receiver.toString(),
          },
        }),
  };
}
