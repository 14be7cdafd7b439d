// Chooses the `Idempotency-Key` of each change. If a response is lost, the server may have made the change. If the operator then sends the same
// change again, and no other change was answered in between, it gets the same key, so that the server makes it only once (admin/idempotent-responses.ts).

interface ChangeKey {
  /** The value of `Idempotency-Key`. */
  readonly key: string;
  /** Call it when the response has arrived. All later changes then get new keys. */
  readonly clearKeys: () => void;
}

/** Keys of changes that have no response yet, by the request as JSON. */
const keys = new Map<string, string>();

/** Maximum number of such keys. */
const maxKeys = 100;

/** Returns the key of a change: a new key, unless the same request was sent before without a response. @param request a value for JSON */
export function keyOfChange(request: unknown): ChangeKey {
  const text = JSON.stringify(request);
  const key = keys.get(text) ?? randomKey();
  if (keys.size >= maxKeys) keys.clear();
  keys.set(text, key);
  // After the response to any change, also another one, the operator sees the present state, and may want the same change again: for example, create
  // a record again that was created without a response and then deleted. With the first key, the server would answer, and store nothing.
  return { key, clearKeys: () => keys.clear() };
}

/** Returns a random key. It does not use `crypto.randomUUID`, which is missing on pages without TLS. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
