/** As without a wrapper: what the other files here have to find, too. */
import { testWrapper } from "./wrapped-shop.js";

testWrapper("nothing", { express: ["5"], isWhole: false });
