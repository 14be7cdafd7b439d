// Chooses the `Idempotency-Key` of each change. If a response is lost, the server may have made the change. If the operator then sends the same
// change again, it gets the same key, so that the server makes it only once (admin/idempotent-responses.ts).

interface Identity {
  /** The value of `Idempotency-Key`. */
  readonly key: string;
  /** Call it when a response has arrived. All next requests then get new keys. */
  readonly clearKeys: () => void;
}

/** Keys of requests that have no response yet, by the request as JSON. */
const keys = new Map<string, string>();

/** Maximum number of such keys. */
const maxKeys = 100;

/** Returns the key of a request: a new key, unless the same request was sent before without a response. @param request a value for JSON */
export function identityOf(request: unknown): Identity {
  const text = JSON.stringify(request);
  const key = keys.get(text) ?? randomKey();
  if (keys.size >= maxKeys) keys.clear();
  keys.set(text, key);
  // After any response, the operator sees the present state, and may want the same change again: for example, create a deleted record once more.
  return { key, clearKeys: () => keys.clear() };
}

/** Returns a random key. It does not use `crypto.randomUUID`, which is missing on pages without TLS. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
