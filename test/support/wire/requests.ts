// Sends requests as raw bytes, even those that no HTTP client would send.

import { connect } from "node:net";

/**
 * Sends `pieces` with pauses in between. Returns all bytes received until the server closes the connection or sends nothing for `quietMs`, which only counts
 * time in which this process gets to run.
 */
export function exchangeBytes(port: number, pieces: string | readonly string[], quietMs = 400): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    let passedMs = 0;
    const timer = setInterval(() => {
      passedMs += 10;
      if (passedMs >= quietMs) finish();
    }, 10);
    const finish = () => {
      clearInterval(timer);
      socket.destroy();
      resolve(received);
    };
    const restart = () => {
      passedMs = 0;
    };
    socket.on("data", (data) => {
      received += data.toString("latin1");
      restart();
    });
    socket.on("close", finish);
    socket.on("error", (error: NodeJS.ErrnoException) => (error.code === "ECONNRESET" ? finish() : reject(error)));
    socket.on("connect", async () => {
      restart();
      for (const piece of typeof pieces === "string" ? [pieces] : pieces) {
        socket.write(Buffer.from(piece, "latin1"));
        await Bun.sleep(20);
        restart();
      }
    });
  });
}
