/**
 * Room for kept answers: so many bytes, and when there is no more the oldest answer goes.
 *
 * @module
 */
import type { StoredAnswer } from "./payment-store.js";

/** Counts what is kept. */
export interface AnswerRoom {
  /**
   * Notes which answer a payment has now. Yields the payments whose answers have to go: the oldest, or this one's alone
   * when it is larger than all the room.
   */
  keep(identity: string, answer: StoredAnswer | undefined): readonly string[];
}

/** Creates room for so many bytes. */
export function createAnswerRoom(maxBytes: number): AnswerRoom {
  // A map keeps the order in which its keys were set: the oldest answer comes first.
  const kept = new Map<string, number>();
  let bytes = 0;
  const drop = (identity: string) => {
    bytes -= kept.get(identity) ?? 0;
    kept.delete(identity);
  };
  return {
    keep(identity, answer) {
      drop(identity);
      if (answer === undefined) return [];
      const size = sizeOf(answer);
      if (size > maxBytes) return [identity];
      kept.set(identity, size);
      bytes += size;
      const crowdedOut: string[] = [];
      for (const oldest of kept.keys()) {
        if (bytes <= maxBytes) break;
        drop(oldest);
        crowdedOut.push(oldest);
      }
      return crowdedOut;
    },
  };
}

function sizeOf({ headers, body }: StoredAnswer): number {
  const inHeaders = headers.reduce((sum, [name, value]) => sum + name.length + String(value).length, 0);
  return body.byteLength + inHeaders;
}
