/**
 * Golden sequences on real stores. `pnpm test:stores` replays them. Those of Redis need `redis-server`.
 *
 * @module
 */
import { hasRedis } from "../../packages/stores/src/redis/server.fixture.js";
import { replay } from "./replay.js";

replay("sqlite", "stores.test.ts");
replay("postgres", "stores.test.ts");
if (hasRedis) replay("redis", "stores.test.ts");
