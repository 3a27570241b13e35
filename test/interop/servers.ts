/**
 * What sellers and facilitators are as servers, on whatever network.
 *
 * @module
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { x402Facilitator } from "@x402/core/facilitator";
import express, { type Express, type RequestHandler } from "express";

/** Options of a seller whose limits a slow machine does not reach, and that prints nothing. */
export const PATIENT_SELLER = {
  deadlines: { verifyMs: 120_000, settleMs: 120_000, supportedMs: 120_000, hookMs: 120_000 },
  logger: { info() {}, warn() {}, error() {} },
} as const;

/** A server on a free port. */
export interface Running {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts an app on a free port. */
export async function listen(app: Express): Promise<Running> {
  const server = await new Promise<Server>((resolve) => {
    const starting = app.listen(0, "127.0.0.1", () => resolve(starting));
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The reference's facilitator classes behind the three endpoints of the specification. */
export function endpointsOf(facilitator: x402Facilitator): Express {
  const app = express().use(express.json());
  app.get("/supported", (_req, res) => void res.json(facilitator.getSupported()));
  app.post("/verify", async (req, res) => {
    res.json(await facilitator.verify(req.body.paymentPayload, req.body.paymentRequirements));
  });
  app.post("/settle", async (req, res) => {
    res.json(await facilitator.settle(req.body.paymentPayload, req.body.paymentRequirements));
  });
  return app;
}

/** A seller of `GET /weather`. How often that was served is `app.locals.served`. */
export function weatherSeller(middleware: RequestHandler): Express {
  const app = express().use(middleware);
  app.locals["served"] = 0;
  app.get("/weather", (_req, res) => {
    app.locals["served"]++;
    res.json({ weather: "sunny" });
  });
  return app;
}

/** What a header of the protocol says. */
export function decode(header: string | null): Record<string, unknown> {
  return JSON.parse(Buffer.from(header ?? "", "base64").toString("utf8"));
}
