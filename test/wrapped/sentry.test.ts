/** `@sentry/node`, by default, with traces, and beside OpenTelemetry. */
import { testWrapper } from "./wrapped-shop.js";

testWrapper("sentry", { express: ["5"], isWhole: false });
testWrapper("sentry-traces", { express: ["5"] });
testWrapper("sentry-traces", { express: ["4"], isWhole: false });
testWrapper("sentry-and-open-telemetry", { express: ["5"], isWhole: false });
