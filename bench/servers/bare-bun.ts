// A bare server on `Bun.serve`, which sends fixed bytes with fixed headers. It parses a write's body and discards it.
// RESPONSES is a file with { "<method> <path>": { status, headers, body (base64) } }.

const responses = new Map(
  Object.entries(await Bun.file(process.env.RESPONSES as string).json()).map(([name, response]) => [
    name,
    toResponse(response),
  ]),
);

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request): Response | Promise<Response> {
    const path = request.url.slice(request.url.indexOf("/", 8));
    const response = responses.get(`${request.method} ${path}`) ?? missing;
    if (request.method === "GET") return new Response(response.body, response);
    return request.json().then(() => new Response(response.body, response));
  },
});
console.log(server.url.href.replace(/\/$/, ""));

// biome-ignore lint/suspicious/noExplicitAny: the file has any body
function toResponse({ status, headers, body }: any) {
  return { status, headers, body: status === 304 ? null : Buffer.from(body, "base64") };
}

const missing = { status: 500, headers: {}, body: Buffer.from("no such response") };

export {};
