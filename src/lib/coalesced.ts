/**
 * Calls `make` at most once at a time. Calls while it is under way share the one after it, so that no caller gets a result that was begun before it
 * asked, however many ask.
 */
export function coalesced<T>(make: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;

  async function begin(): Promise<T> {
    await running?.catch(() => {});
    next = undefined;
    running = make();
    return running;
  }

  return () => {
    next ??= begin();
    return next;
  };
}
