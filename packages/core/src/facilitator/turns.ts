/**
 * Turns: what concerns the same thing happens one after the other.
 *
 * @module
 */

/** Runs a task once all earlier ones of the same key have ended, however they ended. */
export type TakeTurn = <T>(key: string, task: () => Promise<T>) => Promise<T>;

/** Creates turns. Keys nobody waits for are forgotten. */
export function createTurns(): TakeTurn {
  const last = new Map<string, Promise<unknown>>();
  return (key, task) => {
    const before = last.get(key);
    const turn = before === undefined ? task() : before.then(task, task);
    last.set(key, turn);
    const end = () => {
      if (last.get(key) === turn) last.delete(key);
    };
    turn.then(end, end);
    return turn;
  };
}
