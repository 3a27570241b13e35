/**
 * Everything exported here is public API.
 *
 * @module
 */
import type { PaywallRenderer } from "@farebox/core/adapter";
import { writeData, writePage, writeViewer } from "./render.js";

export { THEME } from "./theme.js";

/** Writes the page that takes payments. An adapter passes it to the engine: `loadPaywall: async () => paywall`. */
export const paywall: PaywallRenderer = { page: writePage, data: writeData, viewer: writeViewer };
