/**
 * `make`, whose result is made when it is first asked for, and kept; a promise is shared while it is under way. A failure
 * is not kept: whoever asks next tries again.
 */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    if (made) return made.value;
    const mine = { value: make() };
    made = mine;
    if (mine.value instanceof Promise) {
      mine.value.catch(() => {
        if (made === mine) made = undefined;
      });
    }
    return mine.value;
  };
}
