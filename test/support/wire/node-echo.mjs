// A server on Node's parser, to compare with. Run it with the names of the headers to report; it prints its port.

import { createServer } from "node:http";

const names = process.argv.slice(2);

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const { method, url, rawHeaders } = request;
    const fields = names.map((name) =>
      rawHeaders.filter((_, at) => at % 2 && rawHeaders[at - 1].toLowerCase() === name),
    );
    const body = Buffer.concat(parts).toString("latin1");
    const read = {
      method,
      target: url,
      fields: fields.map((values) => (values.length ? values.join(", ") : null)),
      body,
    };
    const bytes = Buffer.from(JSON.stringify(read), "latin1");
    response.setHeader("Content-Length", bytes.length);
    response.end(bytes);
  });
});
// Accepts every method and expectation, because tests only compare parsing.
server.on("checkExpectation", (request, response) => server.emit("request", request, response));
// After the responses to the previous requests.
server.on("clientError", (_, socket) => setImmediate(() => socket.end(badRequest)));
const badRequest = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
