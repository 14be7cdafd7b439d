// A server that records what a proxy sends.

export interface Recorder {
  readonly port: number;
  /** Each request's header section. */
  readonly requests: readonly string[];
  /** How many have been opened. */
  connections(): number;
  stop(): void;
}

/** Responds to `/wait/<seconds>` after that time, and to everything else right away. Doesn't read bodies. */
export function startRecorder(): Recorder {
  const requests: string[] = [];
  let connections = 0;
  const server = Bun.listen<{ text: string }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        connections++;
        socket.data = { text: "" };
      },
      async data(socket, bytes) {
        socket.data.text += bytes.toString("latin1");
        const [head, rest] = socket.data.text.split(/\r\n\r\n(.*)/s);
        if (rest === undefined || head === undefined) return;
        socket.data.text = rest;
        requests.push(head);
        const [, seconds = "0"] = /^\S+ \/wait\/([0-9.]+)/.exec(head) ?? [];
        await Bun.sleep(Number(seconds) * 1000);
        socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok");
      },
    },
  });
  return { port: server.port, requests, connections: () => connections, stop: () => server.stop(true) };
}
