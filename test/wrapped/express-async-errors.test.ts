/** `express-async-errors`, which knows only Express 4. */
import { testWrapper } from "./wrapped-shop.js";

testWrapper("express-async-errors", { express: ["4"], notFound: ["GET /box/late/i"] });
