import { replay } from "./replay.js";

replay("memory", "memory.test.ts");
