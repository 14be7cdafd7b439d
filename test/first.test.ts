import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestServer, type TestServer } from "./support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

test("a created brand is in the list", async () => {
  const created = await server.call("POST", "/restapi/brands.json", { body: { Name: "Acme" } });
  expect(created.status).toBe(201);
  const list = await server.call("GET", "/restapi/brands.json");
  expect(list.json).toEqual([created.json]);
});
