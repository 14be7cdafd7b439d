// Turns of the event loop for long work that waits between its steps. Only one such work goes on in each turn, so that many of them together
// delay others no longer than one does.

/** Milliseconds of work before the event loop gets a turn. */
const maxBusyMs = 2;

const waiting: (() => void)[] = [];

/** Resolves in a later turn of the event loop, in which no other caller goes on. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });
}

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}

/** A function to call between two steps of long work. When the work has run for 2 ms, it waits until the event loop has had a turn. */
export function createPace(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < maxBusyMs) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
    });
  };
}

/** `items`, with turns of the event loop in between. */
export async function* paced<T>(items: Iterable<T>): AsyncGenerator<T> {
  const pace = createPace();
  for (const item of items) {
    await pace();
    yield item;
  }
}
