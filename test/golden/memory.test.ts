import { replay } from "./replay.js";

replay("memory");
