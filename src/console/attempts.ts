// Which requests are the same. When a response is lost, nobody knows whether the server has done what was asked. If the operator sends the same
// again, it has the same key, so that the server does it once (admin/idempotent-responses.ts).

interface Identity {
  /** For `Idempotency-Key`. */
  readonly key: string;
  /** The response has arrived: the next request is a new one. */
  readonly noteResponse: () => void;
}

/** Keys of requests without a response so far, by what they ask for. */
const keys = new Map<string, string>();

/** Requests at most whose keys are remembered. */
const maxKeys = 100;

/** @param request what makes it the same request, which JSON can have */
export function identityOf(request: unknown): Identity {
  const text = JSON.stringify(request);
  const key = keys.get(text) ?? randomKey();
  if (keys.size >= maxKeys) keys.clear();
  keys.set(text, key);
  // After any response, the operator knows how things are, and may want the same again: what was deleted is created once more.
  return { key, noteResponse: () => keys.clear() };
}

/** Not `crypto.randomUUID`, which pages without TLS do not have. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
