import { replay } from "./replay.js";

replay("processes", "processes.test.ts");
