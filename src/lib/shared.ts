import type { MaybePromise } from "./maybe-promise.ts";

/**
 * The value in `known` under `key`; `make` creates it if there is none. Callers in the meantime share one promise. A failure
 * is not stored: the next caller tries again.
 */
export function shared<T>(
  known: Map<string, MaybePromise<T>>,
  key: string,
  make: () => MaybePromise<T>,
): MaybePromise<T> {
  const value = known.get(key);
  if (value !== undefined) return value;
  const made = make();
  known.set(key, made);
  if (made instanceof Promise) {
    made.then(
      (done) => void known.set(key, done),
      () => void known.delete(key),
    );
  }
  return made;
}
