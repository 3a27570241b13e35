/**
 * Where a failure takes place: a facilitator behind HTTP, a seller in a process of its own, and a payer with money.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  createPayer,
  type FacilitatorServer,
  type Faults,
  type PayOptions,
  type PayResult,
  pay,
  startFacilitatorServer,
} from "@farebox/testing";
import { type Failure, type Library, type SellerPlan, USUAL } from "./failure.js";
import { openMoney } from "./money.js";
import { type SellerProcess, startSeller } from "./seller-process.js";

/** How long a client waits for an answer. */
const LIMIT_SECONDS = 10;

/** What the client got; text in place of a status says why the client got no status. */
export type Reply = Pick<PayResult, "headers" | "text" | "challenge" | "payment"> & {
  readonly status: number | string;
};

export interface Scene {
  readonly plan: SellerPlan;
  readonly url: string;
  readonly faults: Faults;
  readonly seller: SellerProcess;
  /** Amounts that the facilitator was asked to settle, atomic units or what was sent in their place. */
  settled(): readonly unknown[];
  /** Asks for the goods without paying. */
  ask(options?: PayOptions): Promise<Reply>;
  /** Asks for the goods and pays. */
  buy(options?: PayOptions): Promise<Reply>;
  /** The same at the second process. */
  buyAtSecond(options?: PayOptions): Promise<Reply>;
  /** The same as another payer with a dollar of its own. */
  buyAsAnother(): Promise<Reply>;
  /** What the facilitator was asked to verify or to settle. */
  payloads(): readonly object[];
  /** A payment for the goods that was not sent. */
  sign(): Promise<NonNullable<Reply["payment"]>>;
  /** Waits for the facilitator to be called, but not for long: it may never be. */
  called(operation: "settle" | "supported"): Promise<void>;
  /** Starts the facilitator that was down at boot. */
  facilitatorIsBack(): Promise<void>;
}

/** A scene, and what is counted there. */
export interface OpenScene {
  readonly scene: Scene;
  /** How often money moved. */
  debits(): number;
  /** How often the handler ran at the second process. */
  runsOfSecond(): Promise<number>;
  close(): Promise<void>;
}

/** Opens the scene of a failure. */
export async function openScene({ plan: changes, plant, isDownAtBoot }: Failure, library: Library): Promise<OpenScene> {
  const plan = { ...USUAL, ...changes };
  const [payer, payTo] = [createPayer(), createPayer().address];
  const money = await openMoney(plan);
  const { facilitator } = money;
  await money.give(payer.address);
  let server: FacilitatorServer = await startFacilitatorServer({ facilitator });
  const spare = plan.hasSecondFacilitator ? await startFacilitatorServer({ facilitator }) : undefined;
  const port = Number(new URL(server.url).port);
  plant?.(server.faults);
  if (isDownAtBoot) await server.close();
  const folder = mkdtempSync(join(tmpdir(), "farebox-compare-"));
  const shared = plan.hasSecondProcess ? { storeFile: join(folder, "payments.db") } : {};
  const spares = spare === undefined ? {} : { spareFacilitatorUrl: spare.url };
  const start = () => startSeller({ library, plan, facilitatorUrl: server.url, payTo, ...shared, ...spares });
  const seller = await start();
  const second = plan.hasSecondProcess ? await start() : undefined;

  const url = `${seller.url}${plan.path}`;
  const ask: Scene["ask"] = (options = {}) => send(url, options);
  const scene: Scene = {
    plan,
    url,
    faults: server.faults,
    seller,
    settled: () => money.asked,
    ask,
    buy: (options) => ask({ payer, ...options }),
    buyAtSecond: (options) => send(second === undefined ? url : `${second.url}${plan.path}`, { payer, ...options }),
    async buyAsAnother() {
      const another = createPayer();
      await money.give(another.address);
      return ask({ payer: another });
    },
    payloads: () =>
      server.requests.flatMap(({ body }) => {
        const { paymentPayload } = (body ?? {}) as { readonly paymentPayload?: { readonly payload: object } };
        return paymentPayload === undefined ? [] : [paymentPayload.payload];
      }),
    async sign() {
      const { challenge } = await ask();
      if (challenge === undefined) throw new Error(`${url} is not priced`);
      const sign = plan.scheme === "upto" ? payer.signUpto : payer.signExact;
      return sign(challenge.accepts[0]!, { challenge });
    },
    async called(operation) {
      const hasCome = () => server.requests.some((request) => request.operation === operation);
      for (let tries = 0; tries < 50 && !hasCome(); tries++) await delay(20);
    },
    async facilitatorIsBack() {
      server = await startFacilitatorServer({ facilitator, port });
    },
  };
  return {
    scene,
    debits: () => money.debits(),
    runsOfSecond: async () => (second === undefined ? 0 : (await second.usage()).runs),
    async close() {
      await seller.close();
      await second?.close();
      rmSync(folder, { recursive: true });
      await server.close();
      await spare?.close();
      await money.close();
    },
  };
}

async function send(url: string, options: PayOptions): Promise<Reply> {
  const limit = AbortSignal.timeout(LIMIT_SECONDS * 1000);
  const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]);
  try {
    return await pay(url, { ...options, signal });
  } catch {
    const status = limit.aborted ? `no answer within ${LIMIT_SECONDS} s` : BROKEN_OFF;
    return { status, headers: {}, text: "", challenge: undefined, payment: undefined };
  }
}

/** What is said of a connection that ended before its answer did. */
export const BROKEN_OFF = "connection broken off";

/**
 * Does what the answer asks for, once: the same payment again where a 5xx or 409 says when to retry, a new payment where
 * the answer is 402. Nothing else is repeated.
 */
export async function obey(scene: Scene, { status, headers, payment }: Reply): Promise<Reply | undefined> {
  if (status === 402) return scene.buy();
  const isToRetry = typeof status === "number" && status !== 200 && headers["retry-after"] !== undefined;
  return isToRetry && payment !== undefined ? scene.buy({ payment }) : undefined;
}
