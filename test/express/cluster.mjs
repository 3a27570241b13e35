// Prints the codes of what a seller finds who keeps payments in memory, thrice: in a worker of a cluster, or in this process.
import cluster from "node:cluster";
import { createMemoryStore } from "@farebox/core";
import { createPayments } from "@farebox/express";

if (!cluster.isPrimary) process.send(findCodes());
else if (process.argv[2] !== "worker") print(findCodes());
else cluster.fork().once("message", print);

function findCodes() {
  return Array.from({ length: 3 }, () => {
    const store = process.argv[2] === "chosen" ? { store: createMemoryStore() } : {};
    const payments = createPayments({ facilitator: "http://127.0.0.1:9", ...store });
    payments.close();
    return payments.report().findings.map(({ code }) => code);
  });
}

function print(codes) {
  console.log(JSON.stringify(codes));
  // A process warning is printed in the next turn.
  setImmediate(() => process.exit());
}
