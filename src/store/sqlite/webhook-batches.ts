import { ProblemError } from "../../model/errors.ts";
import type { WebhookWrite } from "./webhook-writes.ts";

/** Maximum writes in one transaction. It takes a few milliseconds. During this time, other writers wait. */
const maxBatch = 100;

interface Waiting {
  readonly write: WebhookWrite;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that executes a write of a webhook. Writes that arrive while a transaction is in flight share the next one, so that they wait
 * for the disk only once. Otherwise a few webhooks of a site would delay the writes of its clients.
 * @param send executes several writes in one transaction, and returns their results as a JSON array
 */
export function runInBatches(
  send: (writes: readonly WebhookWrite[]) => Promise<string>,
): (write: WebhookWrite) => Promise<unknown> {
  const waiting: Waiting[] = [];
  let isSending = false;

  async function sendAll(): Promise<void> {
    isSending = true;
    while (waiting.length > 0) await sendBatch(waiting.splice(0, maxBatch));
    isSending = false;
  }

  async function sendBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const results: unknown[] = JSON.parse(await send(batch.map(({ write }) => write)));
      batch.forEach(({ resolve }, index) => void resolve(results[index]));
    } catch (error) {
      const isShared = batch.length === 1 || error instanceof ProblemError;
      if (isShared) for (const { reject } of batch) reject(error);
      // One of the writes has caused the error. Execute each in its own transaction, so that only that write fails.
      else for (const one of batch) await sendBatch([one]);
    }
  }

  return (write) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting.push({ write, resolve, reject });
    if (!isSending) void sendAll();
    return promise;
  };
}
