// Is loaded into the server before its program. Measures the longest tick of the event loop in CPU time of its thread, so that other processes of the
// machine do not count. A timer of one millisecond fires between two ticks; the CPU time since its last call is that of at most two ticks. `GET` on
// the socket STALLS_SOCKET returns the longest tick since the last request, in milliseconds.

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
