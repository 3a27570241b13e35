/** `@opentelemetry/instrumentation-express`. */
import { testWrapper } from "./wrapped-shop.js";

testWrapper("open-telemetry");
