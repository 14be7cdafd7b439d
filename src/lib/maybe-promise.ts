/**
 * A value, or a promise of it. For values that are usually there at once on the path of a request. A promise costs 0.15 µs, lets other code run before
 * its value is used, and makes the next request of a pipelined connection wait for a later tick.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` with the value: at once, or when its promise is fulfilled. Returns the result of `next`. */
export function whenResolved<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
