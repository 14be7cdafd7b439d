// The same as bare-bun.ts on `node:http`.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const responses = new Map(
  Object.entries(JSON.parse(readFileSync(process.env.RESPONSES, "utf8"))).map(([name, { status, headers, body }]) => {
    const bytes = status === 304 ? undefined : Buffer.from(body, "base64");
    return [name, { status, headers: bytes ? { ...headers, "Content-Length": bytes.length } : headers, bytes }];
  }),
);

const server = createServer((request, response) => {
  const recorded = responses.get(`${request.method} ${request.url}`);
  const send = () => response.writeHead(recorded.status, recorded.headers).end(recorded.bytes);
  if (request.method === "GET") return send();
  let text = "";
  request.on("data", (chunk) => {
    text += chunk;
  });
  request.on("end", () => {
    JSON.parse(text);
    send();
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
