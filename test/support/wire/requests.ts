// Sends requests as bytes, also requests that no HTTP client would send.

import { connect } from "node:net";

/**
 * Sends `pieces` to the server with a pause between them. Returns all bytes received until the server closes the connection
 * or has sent nothing for `quiet` milliseconds, without those for which a busy machine kept this process from running.
 */
export function exchangeBytes(port: number, pieces: string | readonly string[], quiet = 400): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    let passed = 0;
    const timer = setInterval(() => {
      passed += 10;
      if (passed >= quiet) finish();
    }, 10);
    const finish = () => {
      clearInterval(timer);
      socket.destroy();
      resolve(received);
    };
    const wait = () => {
      passed = 0;
    };
    socket.on("data", (data) => {
      received += data.toString("latin1");
      wait();
    });
    socket.on("close", finish);
    socket.on("error", (error: NodeJS.ErrnoException) => (error.code === "ECONNRESET" ? finish() : reject(error)));
    socket.on("connect", async () => {
      wait();
      for (const piece of typeof pieces === "string" ? [pieces] : pieces) {
        socket.write(Buffer.from(piece, "latin1"));
        await Bun.sleep(20);
        wait();
      }
    });
  });
}
