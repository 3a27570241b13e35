import fc from "fast-check";
import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { encodePermitCall } from "../facilitator/permit.js";
import { type Permit, PROXIES, type ProxyKind } from "./permit2.js";
import { isCallFor, readSettleCall } from "./settle-call.js";

const address = fc.bigInt({ min: 0n, max: 2n ** 160n - 1n }).map((n): Hex => `0x${n.toString(16).padStart(40, "0")}`);
const uint = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const bytes = fc
  .uint8Array({ minLength: 1, maxLength: 200 })
  .map((data): Hex => `0x${Buffer.from(data).toString("hex")}`);

const APPROVAL = { value: 1n, deadline: 2n, signature: `0x${"11".repeat(64)}1b` } as const;

function permitFor(kind: ProxyKind): fc.Arbitrary<Permit> {
  const facilitator = kind === "upto" ? address : fc.constant(undefined);
  const fields = { from: address, token: address, amount: uint, spender: fc.constant(PROXIES[kind]), nonce: uint };
  return fc.record({ ...fields, deadline: uint, to: address, validAfter: uint, facilitator, signature: bytes });
}

describe.each<ProxyKind>(["exact", "upto"])("calls of the %s proxy", (kind) => {
  const signed = fc.record({
    permit: permitFor(kind),
    approval: fc.constantFrom(undefined, APPROVAL),
    kind: fc.constant(kind),
    chainId: fc.constant(1),
  });

  test("a call is read as it was encoded, with an allowance and without", () => {
    fc.assert(
      fc.property(signed, uint, (some, amount) => {
        const { from: owner, to, token, amount: permitted, nonce, deadline } = some.permit;
        const call = encodePermitCall(some, amount);
        expect(call.to).toBe(PROXIES[kind]);
        const moved = kind === "upto" ? amount : permitted;
        const read = { token, permitted, nonce, deadline, amount: moved, owner, to };
        expect(readSettleCall(call.data, kind)).toEqual(read);
        expect(readSettleCall(call.data, kind === "exact" ? "upto" : "exact")).toBeUndefined();
      }),
    );
  });

  test.each(["from", "token", "amount", "nonce", "deadline", "to"] as const)(
    "a call does not fit a permit with another %s",
    (field) => {
      fc.assert(
        fc.property(signed, permitFor(kind), (some, other) => {
          const call = readSettleCall(encodePermitCall(some, 1n).data, kind);
          if (call === undefined) throw new RangeError("not read");
          const changed = { ...some.permit, [field]: other[field] };
          expect(isCallFor(call, some.permit)).toBe(true);
          expect(isCallFor(call, changed)).toBe(other[field] === some.permit[field]);
        }),
        { numRuns: 30 },
      );
    },
  );

  test("a cut-off call and any other text are not read", () => {
    fc.assert(
      fc.property(permitFor(kind), fc.nat(500), fc.string(), (permit, length, text) => {
        const { data } = encodePermitCall({ chainId: 1, kind, permit }, 1n);
        const words = 10 + 64 * 7;
        expect(readSettleCall(data.slice(0, length), kind) === undefined).toBe(length < words);
        expect(readSettleCall(text, kind)).toBeUndefined();
        expect(readSettleCall(data.slice(0, 10) + text, kind)).toBeUndefined();
      }),
    );
  });
});
