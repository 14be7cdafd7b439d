// A bare server on `Bun.serve` that responds to each request with the same page of changes. BYTES is the length of a page.

const change = '{"Time":"2026-01-01T00:00:00.000Z","Record":"';
const start = `{"Next":"1.1","Changes":[${change}`;
const end = '"}]}';
const page = Buffer.from(start + "x".repeat(Math.max(0, Number(process.env.BYTES) - start.length - end.length)) + end);
const headers = { "Content-Type": "application/json" };

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: () => new Response(page, { headers }),
});
console.log(server.url.href.replace(/\/$/, ""));

export {};
