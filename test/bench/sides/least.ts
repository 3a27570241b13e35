/**
 * What a paid request takes of anyone: a header is decoded, a facilitator is waited for before the handler and after it, the answer is
 * held meanwhile, and a receipt goes out with it. Nothing is checked, nothing is remembered: no product could be so.
 *
 * @module
 */
import express, { type Express, type NextFunction, type RequestHandler, type Response } from "express";
import { settle, verify } from "./facilitator.js";
import { addGoods } from "./goods.js";

type Terms = Parameters<typeof settle>[1];
type Payment = Parameters<typeof settle>[0] & { readonly accepted: Terms };

const inProcess = {
  verify: async (payment: Payment) => verify(payment),
  settle: async (payment: Payment, terms: Terms) => settle(payment, terms),
};

/** Creates the app. */
export function createLeast(): Express {
  return addGoods(express().use(takePayment));
}

const takePayment: RequestHandler = (req, res, next) => {
  const header = req.get("PAYMENT-SIGNATURE");
  if (header === undefined) return next();
  const payment: Payment = JSON.parse(Buffer.from(header, "base64").toString("utf8"));
  inProcess.verify(payment).then(() => {
    holdEnd(res, payment, next);
    next();
  }, next);
};

function holdEnd(res: Response, payment: Payment, next: NextFunction): void {
  const { end } = res;
  res.end = (...args: unknown[]): Response => {
    inProcess.settle(payment, payment.accepted).then((receipt) => {
      res.end = end;
      res.setHeader("PAYMENT-RESPONSE", Buffer.from(JSON.stringify(receipt)).toString("base64"));
      Reflect.apply(end, res, args);
    }, next);
    return res;
  };
}
