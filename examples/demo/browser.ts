/**
 * A wallet for the demo: it stands in front of the seller, and puts a script into the page as an extension of a browser would. The script
 * announces a wallet by EIP-6963, which signs here, with the demo's payer on the local chain. No seller does this.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import type { TypedDataDefinition } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Stage } from "./stage.js";

const WALLET_PATH = "/demo-wallet";

/** Announces the wallet. Its calls go to the server that the page came from. */
const SCRIPT = `(() => {
  const provider = {
    async request({ method, params = [] }) {
      const headers = { "Content-Type": "application/json" };
      const response = await fetch("${WALLET_PATH}", { method: "POST", headers, body: JSON.stringify({ method, params }) });
      const { result, error } = await response.json();
      if (error) throw Object.assign(new Error(error), { code: -32603 });
      return result;
    },
    on() {},
    removeListener() {},
  };
  const icon = "data:image/svg+xml," + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28"><rect width="28" height="28" rx="8" fill="#0b6b43"/><path d="M7 10h14v9H7z" fill="#fff"/><circle cx="18" cy="14.500" r="1.500" fill="#0b6b43"/></svg>');
  const info = Object.freeze({ uuid: "farebox-demo", name: "Demo wallet", icon, rdns: "demo.farebox" });
  const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }));
  addEventListener("eip6963:requestProvider", announce);
  announce();
})();`;

const HASH = `'sha256-${createHash("sha256").update(SCRIPT).digest("base64")}'`;

/** Starts the server with the wallet. Returns its URL. */
export async function serveWithWallet(
  { sellerUrl, chain, payer }: Stage,
  port: number,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const sign = createSigner(chain.rpcUrl, payer.privateKey);
  const server = createServer((req, res) => {
    const isForWallet = req.url === WALLET_PATH && req.method === "POST";
    const answering = isForWallet ? answer(req, res, sign) : forward(req, res, sellerUrl);
    answering.catch(() => res.writeHead(502).end());
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, close };
}

type Sign = (method: string, params: readonly unknown[]) => Promise<unknown>;

function createSigner(rpcUrl: string, privateKey: `0x${string}`): Sign {
  const account = privateKeyToAccount(privateKey);
  return async (method, params) => {
    if (method === "eth_requestAccounts" || method === "eth_accounts") return [account.address];
    if (method === "eth_signTypedData_v4") {
      const { types, ...typed } = JSON.parse(String(params[1])) as TypedDataDefinition;
      const { EIP712Domain: _, ...others } = types as Record<string, never>;
      return account.signTypedData({ ...typed, types: others } as TypedDataDefinition);
    }
    if (!["eth_chainId", "eth_call", "eth_getTransactionReceipt"].includes(method)) throw new Error(`no ${method}`);
    const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(rpcUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: call,
    });
    return ((await response.json()) as { readonly result: unknown }).result;
  };
}

/** Other origins cannot send JSON here without being asked first, and the answer to that is no. */
async function answer(req: IncomingMessage, res: ServerResponse, sign: Sign): Promise<void> {
  if (req.headers["content-type"] !== "application/json") return void res.writeHead(415).end();
  const { method, params } = JSON.parse(await readText(req)) as { method: string; params: readonly unknown[] };
  const reply = await sign(method, params).then(
    (result) => ({ result }),
    (error: unknown) => ({ error: String(error) }),
  );
  res.setHeader("Content-Type", "application/json").end(JSON.stringify(reply));
}

/** Forwards a request to the seller, and adds the wallet to the page of a 402. */
async function forward(req: IncomingMessage, res: ServerResponse, sellerUrl: string): Promise<void> {
  const { method, url, headers } = req;
  const asked = request(new URL(url ?? "/", sellerUrl), { method, headers });
  req.pipe(asked);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const { statusCode = 502, headers: received } = response;
  const isPage = statusCode === 402 && received["content-type"]?.startsWith("text/html") === true;
  const policy = String(received["content-security-policy"] ?? "");
  if (!isPage || !policy.includes("script-src")) {
    res.writeHead(statusCode, received);
    response.pipe(res);
    return;
  }
  const page = (await readText(response)).replace("</head>", () => `<script>${SCRIPT}</script></head>`);
  res.writeHead(statusCode, {
    ...received,
    "content-security-policy": policy.replace("script-src ", `script-src ${HASH} `),
    "content-length": Buffer.byteLength(page),
  });
  res.end(page);
}
