/** What may be there at once or come later. The embedded database answers at once, and a promise would cost a turn. */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `next` to `value` at once when it is there, or when it comes. */
export function after<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
