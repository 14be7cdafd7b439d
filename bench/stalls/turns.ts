// Loaded into the server before its program: measures the longest that its event loop works without a pause, in CPU time of its thread, so that
// what else runs on the machine does not count. A timer of a millisecond fires between two turns; what the thread used since the last time
// is at most two of them. `GET` on the socket STALLS_SOCKET returns the longest since the last time, in milliseconds.

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
