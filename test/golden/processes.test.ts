import { replay } from "./replay.js";

replay("processes");
