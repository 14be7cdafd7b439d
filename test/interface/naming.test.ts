// The one rule for naming a record (contract section 2).

import { afterAll, describe, expect, test } from "bun:test";
import { allResources } from "../../src/resources/all.ts";
import { startTestServer } from "../support/http/server.ts";

const server = await startTestServer();
afterAll(() => server.stop());

const resources = allResources.filter(({ access }) => access === "written");
const formats = ["json", "xml"] as const;
const cases = resources.flatMap(({ path, element }) => formats.map((format) => ({ path, element, format })));

describe.each(cases)("$path in $format", ({ path, element, format }) => {
  const bodyOf = (id: number | undefined, name?: string) => {
    if (format === "json") return JSON.stringify({ ...(id ? { ID: id } : {}), ...(name ? { Name: name } : {}) });
    return `<${element}${id ? ` ID="${id}"` : ""}>${name ? `<Name>${name}</Name>` : ""}</${element}>`;
  };
  const create = async () => {
    const response = await server.call("POST", `/restapi/${path}.json`, { body: { Name: "before" } });
    return response.json.ID as number;
  };
  const nameOf = async (id: number) => (await server.call("GET", `/restapi/${path}/${id}.json`)).json.Name;

  test.each([
    ["the body", (id: number) => ({ at: `${path}.${format}`, body: bodyOf(id, "after") })],
    ["the path", (id: number) => ({ at: `${path}/${id}.${format}`, body: bodyOf(undefined, "after") })],
    ["both", (id: number) => ({ at: `${path}/${id}.${format}`, body: bodyOf(id, "after") })],
  ])("an update may name its record in %s", async (_, make) => {
    const id = await create();
    const { at, body } = make(id);
    expect((await server.call("PUT", `/restapi/${at}`, { body })).status).toBe(200);
    expect(await nameOf(id)).toBe("after");
  });

  test.each([
    ["the path", (id: number) => ({ at: `${path}/${id}.${format}` })],
    ["the body", (id: number) => ({ at: `${path}.${format}`, body: bodyOf(id) })],
    ["the query", (id: number) => ({ at: `${path}.${format}?ID=${id}` })],
    ["all three", (id: number) => ({ at: `${path}/${id}.${format}?ID=${id}`, body: bodyOf(id) })],
  ])("a delete may name its record in %s", async (_, make) => {
    const id = await create();
    const { at, body } = make(id) as { at: string; body?: string };
    expect((await server.call("DELETE", `/restapi/${at}`, { body })).status).toBe(200);
    expect((await server.call("GET", `/restapi/${path}/${id}.json`)).status).toBe(404);
  });

  test("a write that names two records, or none, is rejected and changes nothing", async () => {
    const [one, two] = [await create(), await create()];
    const before = (await server.call("GET", `/restapi/${path}.json`)).text;
    const attempts: [string, string, string | undefined][] = [
      ["PUT", `${path}/${one}.${format}`, bodyOf(two, "after")],
      ["PUT", `${path}.${format}`, bodyOf(undefined, "after")],
      ["PATCH", `${path}.${format}?ID=${two}`, bodyOf(one, "after")],
      ["DELETE", `${path}/${one}.${format}`, bodyOf(two)],
      ["DELETE", `${path}/${one}.${format}?ID=${two}`, undefined],
      ["DELETE", `${path}.${format}?ID=${one}&ID=${two}`, undefined],
      ["DELETE", `${path}.${format}`, undefined],
      ["DELETE", `${path}.${format}`, bodyOf(undefined)],
    ];
    for (const [method, at, body] of attempts) {
      const response = await server.call(method, `/restapi/${at}`, { body });
      expect([method, at, response.status]).toEqual([method, at, 400]);
      expect(response.text).toContain("/docs/problems/ambiguous-id");
    }
    expect((await server.call("GET", `/restapi/${path}.json`)).text).toBe(before);
  });

  test("a write to a record that doesn't exist gets a 404", async () => {
    const gone = await create();
    await server.call("DELETE", `/restapi/${path}/${gone}.${format}`);
    for (const id of [gone, 4_000_000]) {
      expect((await server.call("PUT", `/restapi/${path}.${format}`, { body: bodyOf(id, "x") })).status).toBe(404);
      expect((await server.call("DELETE", `/restapi/${path}/${id}.${format}`)).status).toBe(404);
    }
  });
});

test("an invalid ID in the query is rejected", async () => {
  const response = await server.call("DELETE", "/restapi/brands.json?ID=abc");
  expect([response.status, response.json.detail]).toEqual([400, "`ID` must be a whole number from 1, not `abc`"]);
});
