// `--contact`: which errors and documents say how to reach the operator.

import { afterAll, expect, test } from "bun:test";
import { createClient, StorefrontProblem } from "../../src/client/client.ts";
import { allResources } from "../../src/resources/all.ts";
import { startTestServer } from "../support/http/server.ts";
import { createXmlReader } from "../support/http/xml-reader.ts";
import { exchangeOnce, toRequest } from "../support/wire/client.ts";

const contact = "https://shop.example/help?a=1&b=%22%3Cscript%3E";
const server = await startTestServer({ settings: { CONTACT: contact.replace("%22%3C", '"<') } });
const silent = await startTestServer();
afterAll(() => Promise.all([server.stop(), silent.stop()]));

test.each([
  ["a 401", "GET", "/restapi/brands", "none", true],
  ["a 403", "DELETE", "/restapi/brands/9", "read", true],
  ["a 501", "FETCH", "/restapi/brands", "write", true],
  ["a 404", "GET", "/restapi/brands/9", "write", false],
  ["a 405", "DELETE", "/restapi/locations/1", "write", false],
] as const)("%s has the contact if only the operator can help, in JSON and XML", async (name, method, path, scope, hasContact) => {
  const problemOf = async ({ port, issueKey }: typeof server, format: string) => {
    const key = scope === "none" ? "" : await issueKey({ rights: [scope] });
    const request = toRequest(`${method} ${path}.${format} HTTP/1.1`, [`X-API-AUTH: ${key}`, "Connection: close"]);
    const [response] = await exchangeOnce(port, request);
    expect(`a ${response?.status}`).toBe(name);
    const text = response?.body as string;
    return format === "json" ? JSON.parse(text) : createXmlReader(allResources)(text);
  };
  for (const format of ["json", "xml"]) {
    expect((await problemOf(server, format)).contact).toBe(hasContact ? contact : undefined);
    expect(await problemOf(silent, format)).not.toHaveProperty("contact");
  }
});

test("the start page, llms.txt and OpenAPI have the contact, and none without it", async () => {
  const texts = await Promise.all(["/", "/llms.txt"].map(async (path) => (await server.call("GET", path)).text));
  expect(texts[0]).toContain(`<a href="${contact.replaceAll("&", "&amp;")}">`);
  expect(texts[1]).toContain(contact);
  const { info } = JSON.parse((await server.call("GET", "/openapi.json")).text);
  expect(info.contact.url).toBe(contact);
  for (const path of ["/", "/llms.txt", "/openapi.json"])
    expect((await silent.call("GET", path)).text).not.toContain("shop.example/help");
});

test("the client's problem has it", async () => {
  const client = createClient({ url: server.url, key: "sfk_wrong", retries: 0 });
  const problem = await client.brands.list().catch((error) => error);
  expect(problem).toBeInstanceOf(StorefrontProblem);
  expect(problem.contact).toBe(contact);
});
