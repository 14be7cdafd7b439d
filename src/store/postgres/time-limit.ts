import { unavailable } from "./errors.ts";

interface TimeLimit {
  /** Never resolves. Rejects when the time is over, or with the error given to `fail`. */
  readonly passed: Promise<never>;
  readonly fail: (error: Error) => void;
  /** Starts the time again from 0. */
  readonly restart: () => void;
  readonly stop: () => void;
}

/** Starts a limit for what the database is asked; at the end, `passed` rejects with Refusal `unavailable`. */
export function createTimeLimit(milliseconds: number): TimeLimit {
  const { promise: passed, reject: fail } = Promise.withResolvers<never>();
  passed.catch(() => {});
  const expire = () => fail(unavailable(`the database did not respond within ${milliseconds} ms`));
  let timer = setTimeout(expire, milliseconds);
  return {
    passed,
    fail,
    restart: () => {
      clearTimeout(timer);
      timer = setTimeout(expire, milliseconds);
    },
    stop: () => clearTimeout(timer),
  };
}
