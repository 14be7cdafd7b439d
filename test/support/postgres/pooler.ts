// A small pooler like PgBouncer without `max_prepared_statements`. Each client logs in to its own session. After that, a client gets the session that was used
// last, and returns it after a transaction.

import { randomInt } from "node:crypto";
import { connect, createServer, type Socket } from "node:net";

/** When a client returns its session: never, after a transaction, or after a statement, which rules out transactions. */
type PoolMode = "session" | "transaction" | "statement";

export interface TestPooler {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a pooler without TLS for the server on port `target`. */
export async function startPooler(target: number, mode: PoolMode): Promise<TestPooler> {
  const sockets = new Set<Socket>();
  const idle: Session[] = [];
  const server = createServer((client) => {
    track(client, sockets);
    let session: Session | undefined;
    function onResponse(message: Buffer): void {
      // A pooler's cancel keys differ from the server's.
      if (typeOf(message) === "BackendKeyData") message.writeInt32BE(randomInt(2 ** 31), 5);
      const isReady = typeOf(message) === "ReadyForQuery";
      const isInTransaction = isReady && message[5] !== "I".charCodeAt(0);
      if (isInTransaction && mode === "statement") return void client.destroy();
      client.write(message);
      if (!session || !isReady) return;
      session.expected--;
      if (isInTransaction || session.expected > 0 || mode === "session") return;
      idle.push(session);
      session = undefined;
    }
    let isFirst = true;
    readMessages(client, 0, (message) => {
      session ??= isFirst ? login(target, sockets) : idle.pop();
      isFirst = false;
      if (!session || typeOf(message) === "Terminate") return client.destroy();
      session.onResponse = onResponse;
      if (["Query", "Sync"].includes(typeOf(message))) session.expected++;
      session.socket.write(message);
    });
    client.on("close", () => session?.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Session {
  readonly socket: Socket;
  /** How many ReadyForQuery messages the server still has to send. */
  expected: number;
  onResponse: (message: Buffer) => void;
}

function login(port: number, sockets: Set<Socket>): Session {
  const socket = connect(port, "127.0.0.1");
  track(socket, sockets);
  const session: Session = { socket, expected: 1, onResponse() {} };
  readMessages(socket, 1, (message) => session.onResponse(message));
  return session;
}

function track(socket: Socket, sockets: Set<Socket>): void {
  sockets.add(socket);
  socket.on("error", () => {});
  socket.on("close", () => sockets.delete(socket));
}

/** Calls `onMessage` with each message. @param lengthAt where the first message's length is; a client's has no type */
function readMessages(socket: Socket, lengthAt: 0 | 1, onMessage: (message: Buffer) => void): void {
  let at: number = lengthAt;
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (part: Buffer) => {
    rest = Buffer.concat([rest, part]);
    while (rest.length >= at + 4 && rest.length >= at + rest.readInt32BE(at)) {
      const end = at + rest.readInt32BE(at);
      const message = rest.subarray(0, end);
      [rest, at] = [rest.subarray(end), 1];
      onMessage(message);
    }
  });
}

const types: Record<string, string> = {
  K: "BackendKeyData",
  Q: "Query",
  S: "Sync",
  X: "Terminate",
  Z: "ReadyForQuery",
};

/** A message's type, if this pooler needs it. */
function typeOf(message: Buffer): string {
  return types[message.toString("latin1", 0, 1)] ?? "";
}
