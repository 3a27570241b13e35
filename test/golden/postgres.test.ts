import { replay } from "./replay.js";

replay("postgres");
