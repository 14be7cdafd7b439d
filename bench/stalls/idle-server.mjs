// A server that does nothing: what a client waits for it is the machine's own noise.
//   node idle-server.mjs

import { createServer } from "node:http";

const server = createServer((_, response) => response.end("{}"));
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
