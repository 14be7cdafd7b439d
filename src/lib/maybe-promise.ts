/**
 * A value, or a promise of it. For values that are usually there at once on the path of a request, because a promise costs 0.15 µs, ends the step of
 * a pipelined connection, and lets other tasks run before its value is used.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` with the value: at once, or when its promise is fulfilled. Returns the result of `next`. */
export function whenResolved<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
