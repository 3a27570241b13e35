import { encodeFunctionData, parseAbi, toEventSelector } from "viem";
import { expect, test } from "vitest";
import { EIP3009_ABI } from "../facilitator/eip3009-abi.js";
import { AUTHORIZATION_CANCELED, AUTHORIZATION_USED, encodeAuthorizationState } from "./eip3009-wire.js";

const ADDRESS = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
const NONCE = `0x${"F3".repeat(32)}` as const;

test.each([
  [AUTHORIZATION_USED, "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)"],
  [AUTHORIZATION_CANCELED, "event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)"],
])("%s is the topic of %s", (topic, event) => {
  expect(topic).toBe(toEventSelector(event));
});

test("the call for a nonce's state is what viem makes of the contract's description", () => {
  const args = [ADDRESS, NONCE] as const;
  const ours = encodeAuthorizationState(ADDRESS, NONCE);
  expect(ours).toBe(encodeFunctionData({ abi: EIP3009_ABI, functionName: "authorizationState", args }).toLowerCase());
  const abi = parseAbi(["function authorizationState(address authorizer, bytes32 nonce) view returns (bool)"]);
  expect(ours).toBe(encodeFunctionData({ abi, args }).toLowerCase());
});
