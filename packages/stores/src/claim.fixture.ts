import type { ClaimRequest } from "@farebox/core";

/** What claims of the tests have in common. */
export const CLAIM: Omit<ClaimRequest, "identity" | "owner" | "expiresAtMs"> = {
  ...{ binding: "b", mode: "after", route: "GET /", method: "GET", target: "/", hasBody: false },
};
