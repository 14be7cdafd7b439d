// Receives webhooks on this machine.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface ReceivedEvent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** When it arrived, in milliseconds since 1970. */
  readonly at: number;
}

export interface TestReceiver {
  readonly url: string;
  readonly events: readonly ReceivedEvent[];
  /** How to respond from now on: with a status, or by calling a function. */
  respond(how: number | ((response: ServerResponse, event: ReceivedEvent) => void)): void;
  /** Resolves once there have been `count` events that `isWanted` accepts. */
  received(count: number, isWanted?: (event: ReceivedEvent) => boolean): Promise<readonly ReceivedEvent[]>;
  stop(): Promise<void>;
}

/** Responds with 200s at first. */
export async function startReceiver(port = 0): Promise<TestReceiver> {
  const events: ReceivedEvent[] = [];
  let how: Parameters<TestReceiver["respond"]>[0] = 200;
  const server = createServer(async (request, response) => {
    const event = await read(request);
    events.push(event);
    if (typeof how === "function") how(response, event);
    else response.writeHead(how).end();
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/hooks`,
    events,
    respond: (next) => {
      how = next;
    },
    async received(count, isWanted = () => true) {
      for (;;) {
        const wanted = events.filter(isWanted);
        if (wanted.length >= count) return wanted;
        await Bun.sleep(5);
      }
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function read(request: IncomingMessage): Promise<ReceivedEvent> {
  let body = "";
  request.setEncoding("utf8");
  for await (const chunk of request) body += chunk;
  return { headers: request.headers as Record<string, string>, body, at: Date.now() };
}
