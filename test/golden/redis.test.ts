/**
 * They need `redis-server`.
 *
 * @module
 */
import { test } from "vitest";
import { hasRedis } from "../../packages/stores/src/redis/server.fixture.js";
import { replay } from "./replay.js";

if (hasRedis) replay("redis");
else test.skip("sequences of kind redis", () => {});
