/**
 * Calls `make` on the first call and returns the same value on every later one; a promise is shared while it is pending. A failure is
 * not remembered: the next call tries again.
 */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    if (made) return made.value;
    const attempt = { value: make() };
    made = attempt;
    if (attempt.value instanceof Promise) {
      attempt.value.catch(() => {
        if (made === attempt) made = undefined;
      });
    }
    return attempt.value;
  };
}
