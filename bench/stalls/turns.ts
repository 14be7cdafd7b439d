// Preloaded into the server. Measures the event loop's longest tick in CPU time of its thread, so that other processes don't count. A one-millisecond timer
// fires between ticks, so at most two ticks' CPU time has passed since its last call. `GET` on the socket STALLS_SOCKET returns the longest tick since the
// last request, in milliseconds.

const interval = 1;

let longest = 0;
let last = process.threadCpuUsage();

function note(): void {
  const now = process.threadCpuUsage();
  longest = Math.max(longest, (now.user + now.system - last.user - last.system) / 1000);
  last = now;
}

setInterval(note, interval).unref();

Bun.serve({
  unix: process.env.STALLS_SOCKET as string,
  fetch() {
    const turn = longest;
    longest = 0;
    return Response.json(turn);
  },
}).unref();
