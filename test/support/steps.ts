// The result of work that runs in slices.

import type { Steps } from "../../src/lib/slices.ts";

/** Does `steps` without a pause. */
export function resultOf<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
