// `Bun.serve` that does nothing: constant bytes with constant headers. A write's body is parsed and thrown away.
// REPLIES is a file of { "<method> <path>": { status, headers, body (base64) } }.

const replies = new Map(
  Object.entries(await Bun.file(process.env.REPLIES as string).json()).map(([name, reply]) => [name, toReply(reply)]),
);

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request): Response | Promise<Response> {
    const path = request.url.slice(request.url.indexOf("/", 8));
    const reply = replies.get(`${request.method} ${path}`) ?? missing;
    if (request.method === "GET") return new Response(reply.body, reply);
    return request.json().then(() => new Response(reply.body, reply));
  },
});
console.log(server.url.href.replace(/\/$/, ""));

// biome-ignore lint/suspicious/noExplicitAny: as the file has it
function toReply({ status, headers, body }: any) {
  return { status, headers, body: status === 304 ? null : Buffer.from(body, "base64") };
}

const missing = { status: 500, headers: {}, body: Buffer.from("no such reply") };

export {};
