// Receives deliveries from the webhook that the operator added for this run.

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

export interface ReceivedEvent {
  readonly method: string;
  /** Keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Receiver {
  readonly events: readonly ReceivedEvent[];
  /** Resolves with the first event that `isWanted` accepts, or undefined after ten seconds. */
  find(isWanted: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent | undefined>;
  stop(): Promise<void>;
}

const maxDeliveryMs = 10_000;

/** Starts a receiver that answers everything with a 204. */
export async function startReceiver(port: number): Promise<Receiver> {
  const events: ReceivedEvent[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString("utf8");
    events.push({ method: request.method ?? "", headers: request.headers as Record<string, string>, body });
    response.writeHead(204).end();
    for (const check of waiting) check();
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, resolve));
  return {
    events,
    find: (isWanted) =>
      new Promise((resolve) => {
        const finish = (event: ReceivedEvent | undefined) => {
          clearTimeout(timer);
          waiting.delete(check);
          resolve(event);
        };
        const check = () => {
          const event = events.find(isWanted);
          if (event) finish(event);
        };
        const timer = setTimeout(finish, maxDeliveryMs, undefined);
        waiting.add(check);
        check();
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
