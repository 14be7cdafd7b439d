// Sends requests as bytes, for those that no HTTP client would send.

import { connect } from "node:net";

/**
 * Sends `pieces` to the server with a pause between them. Returns all bytes received until the server closes the connection
 * or has sent nothing for `quiet` milliseconds.
 */
export function exchangeBytes(port: number, pieces: string | readonly string[], quiet = 400): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    let timer: Timer;
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(received);
    };
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(finish, quiet);
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
