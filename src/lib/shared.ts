import type { MaybePromise } from "./maybe-promise.ts";

/**
 * What `known` has under `key`, made by `make` if it has nothing yet. Those who ask while it is made wait for the same. A failure is
 * not kept: the next one to ask makes it again.
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
