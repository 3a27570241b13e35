/**
 * Metrics as Prometheus text, and metrics and spans by the SDK of OpenTelemetry.
 */
import { createRequire } from "node:module";

import { ConfigError, type PaymentsOptions } from "@farebox/express";
import * as opentelemetry from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, describe, expect, test } from "vitest";
import { openObservedShop } from "./observed-shop.js";
import { PRICED, type ShopPlan, until, VERSIONS } from "./shop.js";

/** Has no types of its own. */
const parse: (text: string) => readonly Family[] = createRequire(import.meta.url)("parse-prometheus-text-format");

interface Family {
  readonly name: string;
  readonly type: string;
  readonly metrics: readonly {
    readonly value?: string;
    readonly labels?: Readonly<Record<string, string>>;
  }[];
}

/** Reads the text by a parser that is not ours. */
function read(text: string) {
  const families = parse(text);
  const family = (name: string) => families.find((one) => one.name === name);
  return {
    families,
    family,
    value: (name: string, labels: Readonly<Record<string, string>> = {}) =>
      family(name)?.metrics.find((one) => Object.entries(labels).every(([key, value]) => one.labels?.[key] === value))
        ?.value,
  };
}

const ROUTE = "/paid";

describe.each(VERSIONS)("on %s", (name, express) => {
  const open = (plan: ShopPlan & { options?: Partial<PaymentsOptions> } = {}) =>
    openObservedShop(express, { ...plan, options: { metrics: true, ...plan.options } });

  test("challenges, payments, revenue and calls are counted by route, outcome and facilitator", async () => {
    const shop = await open();
    await shop.ask();
    for (let at = 0; at < 3; at++) await shop.pay();
    shop.facilitator.failNext("rejected");
    await shop.pay();
    const metrics = read(shop.payments.metrics());
    const asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
    const network = "eip155:84532";
    expect(metrics.value("farebox_challenges_total", { route: ROUTE })).toBe("5");
    expect(metrics.value("farebox_claims_total", { route: ROUTE })).toBe("4");
    expect(metrics.value("farebox_payments_total", { route: ROUTE, network, outcome: "settled" })).toBe("3");
    expect(metrics.value("farebox_payments_total", { route: ROUTE, network, outcome: "rejected" })).toBe("1");
    expect(metrics.value("farebox_revenue_atomic_total", { route: ROUTE, network, asset })).toBe("30000");
    // The parser does not read histograms with labels.
    expect(metrics.family("farebox_facilitator_call_duration_seconds")?.type).toBe("HISTOGRAM");
    expect(shop.payments.metrics()).toContain(
      'farebox_facilitator_call_duration_seconds_count{facilitator="facilitator-1",operation="verify",outcome="responded"} 4\n',
    );
    expect(metrics.value("farebox_facilitator_up", { facilitator: "facilitator-1" })).toBe("1");
    expect([metrics.value("farebox_in_flight"), metrics.value("farebox_held_bytes")]).toEqual(["0", "0"]);
  });

  test("bytes are held until the settlement is over, and payments are in flight so long", async () => {
    const shop = await open({ handler: (_req, res) => void res.send("x".repeat(1000)) });
    const held = shop.facilitator.hold("settle");
    const bought = shop.pay();
    const goOn = await held;
    const during = read(shop.payments.metrics());
    expect([during.value("farebox_held_bytes"), during.value("farebox_in_flight")]).toEqual(["1000", "1"]);
    goOn();
    await bought;
    const after = read(shop.payments.metrics());
    expect([after.value("farebox_held_bytes"), after.value("farebox_in_flight")]).toEqual(["0", "0"]);
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("a client that leaves, and a handler that fails, leave no held bytes", async () => {
    const shop = await open({
      handler: (_req, res) => {
        res.write("x".repeat(5000));
        res.destroy();
      },
    });
    await shop.pay().catch(() => {});
    await until(() => read(shop.payments.metrics()).value("farebox_held_bytes") === "0");
  });

  test("an unknown outcome is counted, and shows until it is known", async () => {
    const shop = await open();
    shop.facilitator.failNext("unknown");
    const { header } = await shop.sign();
    await shop.ask({ payment: header });
    const during = read(shop.payments.metrics());
    expect(during.value("farebox_unknown_outcomes")).toBe("1");
    expect(during.value("farebox_payments_total", { outcome: "unknown" })).toBe("1");
    await shop.ask({ payment: header });
    expect(read(shop.payments.metrics()).value("farebox_payments_total", { outcome: "settled" })).toBe("1");
  });

  test("paths and texts of strangers make no series", async () => {
    const shop = await open({ routes: { "GET /paid/:id": PRICED } });
    for (let at = 0; at < 10; at++) {
      await shop.ask({ path: `/paid/${at}` });
      await shop.ask({ path: `/paid/${at}`, payment: `not a payment "${at}` });
    }
    const { families } = read(shop.payments.metrics());
    expect(Math.max(...families.map(({ metrics }) => metrics.length))).toBeLessThanOrEqual(2);
    expect(read(shop.payments.metrics()).value("farebox_refusals_total", { reason: "invalid_payload" })).toBe("10");
  });

  test("without the option there are no metrics, and asking for them says so", async () => {
    const shop = await openObservedShop(express, {});
    expect(() => shop.payments.metrics()).toThrow(ConfigError);
    expect(() => shop.payments.metrics()).toThrow(/options\.metrics/);
  });

  describe("with OpenTelemetry", () => {
    afterEach(() => {
      opentelemetry.trace.disable();
      opentelemetry.metrics.disable();
      opentelemetry.context.disable();
    });

    function setUp() {
      const spans = new InMemorySpanExporter();
      opentelemetry.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      opentelemetry.trace.setGlobalTracerProvider(
        new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
      );
      const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
      const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
      opentelemetry.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
      return { spans, exporter, reader };
    }

    test("verification, handler and settlement are spans below the request's", async () => {
      const { spans } = setUp();
      const tracer = opentelemetry.trace.getTracer("test");
      const shop = await open({
        options: { telemetry: opentelemetry },
        before: [(_req, _res, next) => tracer.startActiveSpan("request", () => next())],
      });
      const { header } = await shop.sign();
      await shop.ask({ payment: header });
      const finished = spans.getFinishedSpans();
      const parents = new Set(finished.map(({ parentSpanContext }) => parentSpanContext?.spanId));
      expect(finished.map(({ name }) => name)).toEqual([
        "farebox.facilitator.verify",
        "farebox.verify",
        "farebox.handler",
        "farebox.facilitator.settle",
        "farebox.settle",
      ]);
      expect([parents.size, [...parents][0]]).toEqual([1, expect.stringMatching(/^[0-9a-f]{16}$/)]);
      const settle = finished.at(-1)!;
      expect(settle.attributes).toMatchObject({
        ...{ "http.route": "/paid", "farebox.network": "eip155:84532", "farebox.amount": "10000" },
        "farebox.transaction": expect.any(String),
      });
      expect(settle.status.code).toBe(opentelemetry.SpanStatusCode.UNSET);
      expect(finished[0]).toMatchObject({ kind: opentelemetry.SpanKind.CLIENT });
      expect(JSON.stringify(finished.map(({ attributes }) => attributes))).not.toContain(header);
    });

    test("a refused settlement is a span with its error", async () => {
      const { spans } = setUp();
      const shop = await open({ options: { telemetry: opentelemetry } });
      shop.facilitator.failNext("rejected");
      await shop.pay();
      const settle = spans.getFinishedSpans().find(({ name }) => name === "farebox.settle")!;
      expect([settle.status.code, settle.attributes["error.type"]]).toEqual([
        opentelemetry.SpanStatusCode.ERROR,
        "insufficient_funds",
      ]);
    });

    test("the SDK gets the same metrics", async () => {
      const { exporter, reader } = setUp();
      const shop = await open({ options: { telemetry: opentelemetry } });
      await shop.pay();
      await reader.forceFlush();
      const [exported] = exporter.getMetrics();
      const metrics = exported!.scopeMetrics.flatMap((scope) => scope.metrics);
      const value = (name: string) =>
        metrics.find(({ descriptor }) => descriptor.name === name)?.dataPoints.map((point) => point.value);
      expect(value("farebox.challenges")).toEqual([1]);
      expect(value("farebox.revenue_atomic")).toEqual([10_000]);
      expect(value("farebox.facilitator_up")).toEqual([1]);
      expect(value("farebox.facilitator_call.duration")).toMatchObject([{ count: 1 }, { count: 1 }]);
      await reader.shutdown();
    });

    test.each([5, {}, { trace: opentelemetry.trace }, null])(
      "telemetry of %j is refused at start",
      async (telemetry) => {
        await expect(open({ options: { telemetry: telemetry as typeof opentelemetry } })).rejects.toThrow(
          /options\.telemetry/,
        );
      },
    );
  });
});
