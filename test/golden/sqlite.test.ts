import { replay } from "./replay.js";

replay("sqlite");
