/**
 * The dashboard of examples/observed asks a real Prometheus, which scrapes the shop while it has traffic.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

const EXAMPLE = new URL("../../examples/observed/", import.meta.url).pathname;
const { panels } = JSON.parse(readFileSync(`${EXAMPLE}dashboard.json`, "utf8")) as {
  readonly panels: readonly Panel[];
};

/** The traffic sends no payment twice, and nobody gets in without one. */
const MAY_BE_EMPTY: readonly string[] = ["Payments that came again", "Let through without payment"];

const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;
if (!hasPrometheus) console.warn("There is no Prometheus here, so the dashboard is not tried.");

test.skipIf(!hasPrometheus)(
  "every panel of the dashboard has data from Prometheus",
  async () => {
    const metricsUrl = await startShop();
    const prometheusUrl = await startPrometheus(new URL(metricsUrl).host);
    const ask = async (expr: string) => {
      const query = expr.replaceAll("$__rate_interval", "1m").replaceAll("$__range", "1m").replaceAll("$route", ".*");
      const response = await fetch(`${prometheusUrl}/api/v1/query?${new URLSearchParams({ query })}`);
      return (await response.json()) as {
        readonly status: string;
        readonly data?: { readonly result: readonly unknown[] };
      };
    };
    const isScraped = async () =>
      (await ask("count_over_time(farebox_in_flight[1m]) >= 3").catch(() => undefined))?.data?.result.length;
    await expect.poll(isScraped, { timeout: 170_000, interval: 100 }).toBe(1);
    const empty: string[] = [];
    for (const { title, targets } of panels) {
      for (const { expr } of targets) {
        const { status, data } = await ask(expr);
        expect([title, status]).toEqual([title, "success"]);
        if (data?.result.length === 0) empty.push(title);
      }
    }
    expect(panels.length).toBe(15);
    expect(empty).toEqual(MAY_BE_EMPTY);
  },
  180_000,
);

async function startShop(): Promise<string> {
  const shop = start(process.execPath, [`${EXAMPLE}dist/serve.js`]);
  let said = "";
  for await (const chunk of shop.stdout!) {
    said += chunk;
    const url = /metrics: (\S+)/.exec(said)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error("the shop did not start");
}

async function startPrometheus(target: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-prometheus-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, "prometheus.yml");
  writeFileSync(
    config,
    `global: { scrape_interval: 1s }\nscrape_configs: [{ job_name: farebox, static_configs: [{ targets: ["${target}"] }] }]\n`,
  );
  const address = `127.0.0.1:${await findPort()}`;
  start("prometheus", [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=${address}`,
  ]);
  return `http://${address}`;
}

function start(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  return child;
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
