/** A value, or a promise of it. SQLite returns at once, and awaiting a promise would cost a turn of the event loop. */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `next` to `value`: at once, or when its promise is fulfilled. */
export function after<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
