/**
 * Whether 32 bytes are a point of the curve of ed25519. An address that a program derives is one that is not, so that
 * nobody can have a key for it.
 *
 * Plain arithmetic with `bigint`: nothing here is secret, so time may depend on the values, and it is done once for each
 * payee. A library for the curve would be the only dependency of a seller for these few lines.
 *
 * @see RFC 8032, §5.1 and §5.1.3
 * @module
 */
const P = 2n ** 255n - 19n;

/** The curve's d, -121665/121666, modulo {@link P}. */
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** Whether the bytes are a compressed point. The sign of x, their highest bit, does not matter for that. */
export function isOnCurve(bytes: Uint8Array): boolean {
  const y = littleEndian(bytes) % 2n ** 255n;
  const yy = (y * y) % P;
  // x² = u/v has a solution exactly where u·v is a square; v is never zero.
  const u = yy - 1n + P;
  const v = (D * yy + 1n) % P;
  return isSquare((u * v) % P);
}

/** By Euler's criterion. Zero is a square. */
function isSquare(value: bigint): boolean {
  const power = raise(value, (P - 1n) / 2n);
  return power === 0n || power === 1n;
}

function raise(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base];
  for (let bits = exponent; bits > 0n; bits >>= 1n) {
    if ((bits & 1n) === 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
}
