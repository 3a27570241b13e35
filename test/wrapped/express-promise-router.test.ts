/** `express-promise-router`, which knows only Express 4. */
import { testWrapper } from "./wrapped-shop.js";

testWrapper("express-promise-router", { express: ["4"], isShown: false });
