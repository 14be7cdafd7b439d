// Common mistakes, and the advice of the responses. Each mistake is made in both formats if both have it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createPathHint } from "../../src/http/path-advice.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";

let server: TestServer;
let before: string;
beforeAll(async () => {
  server = await startTestServer();
  for (const Name of ["Acme", "Bolt"]) await server.call("POST", "/restapi/brands.json", { body: { Name } });
  before = (await server.call("GET", "/restapi/brands.json")).text;
});
afterAll(async () => {
  expect((await server.call("GET", "/restapi/brands.json")).text).toBe(before);
  await server.stop();
});

const formats = ["json", "xml"] as const;

/** Returns the `detail` of a problem, and its field errors. */
function textOf(text: string): string {
  if (text.startsWith("{")) {
    const { detail, errors = [] } = JSON.parse(text);
    return [detail, ...errors.map((fault: Record<string, unknown>) => fault.detail)].join("\n");
  }
  const parts = [...text.matchAll(/<detail>([^<]*)<\/detail>/g)].map(([, part]) => part as string);
  return parts.join("\n").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

async function expectProblem(method: string, path: string, options: object, status: number, says: string) {
  const response = await server.call(method, path, options);
  expect([method, path, response.status, textOf(response.text)]).toEqual([
    method,
    path,
    status,
    expect.stringContaining(says),
  ]);
}

describe("a body", () => {
  test.each<[string, string, string, string]>([
    [
      "json",
      "POST",
      '[{"Name":"x"}]',
      "the body must be one brand (an object); to send several, use a batch request: POST /restapi/batch.json",
    ],
    ["json", "POST", "Name=x&AccountNumber=1", 'This looks like a form; send JSON, such as `{"Name":"Acme"}`'],
    ["xml", "POST", "Name=x", "This looks like a form; send XML, such as `<Brand><Name>Acme</Name></Brand>`"],
    ["json", "POST", '--b1\r\nContent-Disposition: form-data; name="Name"\r\n\r\nx\r\n--b1--\r\n', "looks like a form"],
    ["json", "POST", "<Brand><Name>x</Name></Brand>", "This path accepts JSON; send XML to `/restapi/brands.xml`"],
    ["json", "POST", '\ufeff <?xml version="1.0"?><Brand/>', "send XML to `/restapi/brands.xml`"],
    ["xml", "POST", '{"Name":"x"}', "This path accepts XML; send JSON to `/restapi/brands.json`"],
    ["json", "POST", '{"Brand":{"Name":"x"}}', "`Brand`: no such field; send the record without `Brand` around it"],
    ["json", "POST", '{"data":{"Name":"x"}}', "send the record without `data` around it"],
    [
      "xml",
      "POST",
      "<Results><Brand><Name>x</Name></Brand></Results>",
      "send one <Brand>, without <Results> around it",
    ],
    ["xml", "PUT", '<Brand id="1"><Name>x</Name></Brand>', "no such attribute; did you mean `ID`?"],
    ["json", "PUT", '{"id":1,"Name":"x"}', "`id`: no such field; did you mean `ID`?"],
    ["json", "POST", '{"Name":"x","Town":"Leeds"}', "`Town`: no such field; did you mean `Address.Town`?"],
    [
      "xml",
      "POST",
      "<Brand><Name>x</Name><Town>Leeds</Town></Brand>",
      "`Town`: no such element; did you mean <Town> in <Address>?",
    ],
    ["json", "POST", '{"Name":"x","telephone_daytime":"1"}', "did you mean `Telephone.Daytime`?"],
    [
      "json",
      "POST",
      '{"Name":"x","Address":{"AccountNumber":"1"}}',
      "`Address.AccountNumber`: no such field; did you mean `AccountNumber`?",
    ],
    ["xml", "POST", "<Brand><Address><Name>x</Name></Address></Brand>", "did you mean <Name> in <Brand>?"],
    ["json", "POST", '{"Name":"x","Address":{"Mobil":"1"}}', "did you mean `Telephone.Mobile`?"],
    [
      "json",
      "POST",
      '{"Name":"x","Address.Town":"Leeds"}',
      '`Address.Town`: no such field; write it as `"Address": {"Town": ...}`',
    ],
    [
      "json",
      "POST",
      '{"Name":"x",}',
      "the body is not valid JSON: line 1, column 13: expected a name in double quotes",
    ],
    ["json", "POST", "{\n  'Name': 'x'\n}", "line 2, column 3: expected a name in double quotes, not `'`"],
    [
      "xml",
      "POST",
      "<Brand>\n  <Name>Smith & Sons</Name>\n</Brand>",
      "the body is not well-formed XML: line 2, column 15: `&`",
    ],
    ["xml", "POST", "<Brand><Name>x</Nmae></Brand>", "line 1, column 15: expected `</Name>`, not `</Nmae>`"],
  ])("in %s (%s) %j", async (format, method, body, says) => {
    await expectProblem(method, `/restapi/brands.${format}`, { body }, 400, says);
  });

  test("sent to a record in the other format gets the record's other path", async () => {
    await expectProblem(
      "PUT",
      "/restapi/brands/1.json",
      { body: "<Brand/>" },
      400,
      "send XML to `/restapi/brands/1.xml`",
    );
  });

  test("that cannot be parsed has its place in `errors`, in both formats", async () => {
    const json = await server.call("POST", "/restapi/brands.json", { body: '{\n"Name": x}' });
    expect(json.json.errors).toEqual([expect.objectContaining({ field: "", line: 2, column: 9 })]);
    const xml = await server.call("POST", "/restapi/brands.xml", { body: "<Brand>\n<Name>" });
    expect(xml.text).toMatch(
      /<errors><i><field><\/field><detail>[^<]+<\/detail><line>2<\/line><column>7<\/column><\/i><\/errors>/,
    );
  });
});

describe.each(formats)("in %s, a write", (format) => {
  const body = format === "json" ? '{"Name":"x"}' : "<Brand><Name>x</Name></Brand>";

  test("that names no record gets a problem with all three ways", async () => {
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      for (const way of [`\`/restapi/brands/12.${format}\``, "in the body", `\`/restapi/brands.${format}?ID=12\``]) {
        await expectProblem(method, `/restapi/brands.${format}`, { body }, 400, way);
      }
    }
  });

  test.each(["id", "Id", "iD"])("that names its record by ?%s=", async (name) => {
    for (const path of ["brands", "brands/1"]) {
      const says = `there is no parameter \`${name}\`; did you mean \`?ID=1\`?`;
      await expectProblem("DELETE", `/restapi/${path}.${format}?${name}=1`, {}, 400, says);
    }
  });

  test("that creates at the path of a record", async () => {
    const says = `create with POST \`/restapi/brands.${format}\`; change this one with PUT or PATCH here`;
    await expectProblem("POST", `/restapi/brands/1.${format}`, { body }, 405, says);
  });

  test.each([
    "",
    " ",
    "abc.1.json",
    "'abc'",
    '"a',
    'a"b"',
    '"a" "b"',
    '"a", b',
    ",",
    'w/"a"',
    '*, "a"',
  ])("whose If-Match or If-None-Match is %j", async (tag) => {
    for (const name of ["If-Match", "If-None-Match"]) {
      for (const method of ["PUT", "DELETE"]) {
        const options = { body: method === "PUT" ? body : undefined, headers: { [name]: tag } };
        const says = `${name} must be \`*\` or the unchanged \`ETag\` of a response, with its double quotes`;
        await expectProblem(method, `/restapi/brands/1.${format}`, options, 400, says);
      }
    }
  });

  test("whose tag was weakened on the way", async () => {
    const { headers } = await server.call("GET", `/restapi/brands/1.${format}`);
    for (const tag of [`W/${headers.get("ETag")}`, `"other", W/${headers.get("ETag")}`]) {
      const says = "If-Match has a weak tag (`W/...`), which never matches.";
      await expectProblem("PUT", `/restapi/brands/1.${format}`, { body, headers: { "If-Match": tag } }, 412, says);
      await expectProblem("GET", `/restapi/brands/1.${format}`, { headers: { "If-Match": tag } }, 412, says);
    }
    const says = "the brand 1 has changed since";
    await expectProblem("PUT", `/restapi/brands/1.${format}`, { body, headers: { "If-Match": '"other"' } }, 412, says);
  });
});

test("lists of tags may have blanks and empty elements", async () => {
  const { headers } = await server.call("GET", "/restapi/brands/1.json");
  for (const tag of [`, "a" ,, ${headers.get("ETag")},`, '""', ' "a"\t']) {
    const response = await server.call("PUT", "/restapi/brands/1.json", {
      body: { Name: "Acme" },
      headers: { "If-Match": tag },
    });
    expect([tag, response.status]).toEqual([tag, tag.includes(",") ? 200 : 412]);
  }
});

test("a read with a malformed If-None-Match gets the record", async () => {
  const response = await server.call("GET", "/restapi/brands/1.json", { headers: { "If-None-Match": "abc" } });
  expect(response.status).toBe(200);
});

describe("a parameter", () => {
  test.each<[string, string]>([
    ["Name=Acme", "there is no parameter `Name`; write `filter[Name]=Acme`"],
    ["name=Acme", "write `filter[Name]=Acme`"],
    ["NAME=", "write `filter[Name]=`"],
    ["account_number=1", "write `filter[AccountNumber]=1`"],
    ["Address.Town=Leeds", "write `filter[Address.Town]=Leeds`"],
    ["Town=Leeds", "write `filter[Address.Town]=Leeds`"],
    ["address[town]=Leeds", "write `filter[Address.Town]=Leeds`"],
    ["Address=Leeds", "write `filter[Address.Title]=Leeds`"],
    ["Name[contains]=ac", "write `filter[Name]=ac`"],
    ["name_like=ac", "write `filter[Name]=ac`"],
    ["ID=3", "write `filter[ID][in]=3,5,8`, or look one up by its path, such as `/restapi/brands/3.json`"],
    ["id=3", "write `filter[ID][in]=3,5,8`"],
    ["Limit=5", "there is no parameter `Limit`; write `limit`"],
    ["LIMIT=5", "write `limit`"],
    ["limit[]=5", "write `limit`"],
    ["Offset=5", "write `offset`"],
    ["Sort=Name", "write `sort`"],
    ["sort[]=Name", "write `sort`"],
    ["sort[Name]=asc", "write `sort`"],
    ["Fields=Name", "write `fields`"],
    ["fields[brands]=Name", "write `fields`"],
    ["field=Name", "write `fields`"],
    ["filter=Acme", "write `filter[Name]=Acme`"],
    ["Filter[Name]=Acme", "write `filter[Name]=Acme`"],
    ["filter.Name=Bolt", "write `filter[Name]=Bolt`"],
    ["filter[Name=Bolt", "write `filter[Name]=Bolt`"],
    ["filter[Name][contains][x]=Bolt", "write `filter[Name]=Acme`"],
    ["filterName=Bolt", "write `filter[Name]=Bolt`"],
    ["filter_name=Bolt", "write `filter[Name]=Bolt`"],
    ["filters[Name]=Bolt", "write `filter[Name]=Bolt`"],
    ["filter[Nmae=Bolt", "write `filter[Name]=Acme`"],
    ["where[Name]=Bolt", "write `filter[Name]=Bolt`"],
    ["page=2", "write `limit` and `offset`"],
    ["Page=2", "write `limit` and `offset`"],
    ["page[number]=2", "write `limit` and `offset`"],
    ["page[after]=2", "write `limit` and `offset`"],
    ["per_page=20", "write `limit` and `offset`"],
    ["pageSize=20", "write `limit` and `offset`"],
    ["_limit=20", "write `limit`"],
    ["$top=20", "write `limit`"],
    ["skip=20", "write `offset`"],
    ["order=asc", "write `sort`"],
    ["orderby=Name", "write `sort`"],
    ["order_by=Name", "write `sort`"],
    ["$orderby=Name", "write `sort`"],
    ["sort_by=Name", "write `sort`"],
    ["q=acme", "write `filter[Name][contains]=acm`"],
    ["search=acme", "write `filter[Name][contains]=acm`"],
    ["query=acme", "write `filter[Name][contains]=acm`"],
    ["limit=5&Name=Acme", "write `filter[Name]=Acme`"],
    ["starting_after=brand_3", "write `limit` and `offset`"],
    ["ending_before=3", "write `limit` and `offset`"],
    ["after=3", "write `limit` and `offset`"],
    ["before=3", "write `limit` and `offset`"],
    ["page_info=eyJ", "write `limit` and `offset`"],
    ["pageToken=x", "write `limit` and `offset`"],
    ["first=50", "write `limit` and `offset`"],
    ["last=50", "write `limit` and `offset`"],
    ["from=50", "write `offset`"],
    ["dir=desc", "write `sort`"],
    ["ids=3,5", "write `filter[ID][in]=3,5,8`"],
    ["ids[]=3", "write `filter[ID][in]=3,5,8`"],
  ])("%s is rejected on lists and look-ups", async (query, says) => {
    for (const format of formats) {
      for (const method of ["GET", "HEAD"]) {
        const path = `/restapi/brands.${format}?${query}`;
        if (method === "GET") await expectProblem(method, path, {}, 400, says);
        else expect((await server.call(method, path)).status).toBe(400);
      }
      const instead = says.replace("; write", "; a look-up has none; in a list (`/restapi/brands.json`), write");
      await expectProblem("GET", `/restapi/brands/1.${format}?${query}`, {}, 400, instead);
    }
  });

  test.each([
    "since=now",
    "updated_since=2026-11-01",
    "modified_since=2026-11-01",
    "updatedSince=2026-11-01",
    "updated_at_min=2026-11-01",
    "wait=20",
    "resource=brands",
    "collapse=1",
    "limit=5&since=0.0",
  ])("%s is rejected on lists and look-ups, with the way to the feed", async (query) => {
    const says = "`; write `/restapi/changes.json?since=now`, the feed, for what has changed";
    for (const format of formats)
      for (const path of [`/restapi/brands.${format}`, `/restapi/brands/1.${format}`])
        await expectProblem("GET", `${path}?${query}`, {}, 400, says);
  });

  test("of a paginator for another interface ends it at its first request", async () => {
    let requests = 0;
    let after = "";
    do {
      requests++;
      const { status, json } = await server.call("GET", `/restapi/brands.json?limit=2&starting_after=${after}`);
      if (status !== 200) break;
      after = json.at(-1)?.ID;
    } while (after && requests < 10);
    expect(requests).toBe(1);
  });

  test.each([
    "_=1",
    "t=1",
    "ts=1",
    "v=2",
    "utm_source=x",
    "utm_term=x",
    "nocache",
    "rnd=0.5",
    "=x",
    "[]=x",
    "format=xml",
    "toString=1",
    "__proto__=1",
  ])("%s is ignored", async (query) => {
    expect((await server.call("GET", `/restapi/brands.json?${query}`)).text).toBe(before);
    expect((await server.call("GET", `/restapi/brands/1.json?${query}`)).status).toBe(200);
  });

  test("that names a field of another resource only is ignored", async () => {
    expect((await server.call("GET", "/restapi/orderstatuses.json?Town=Leeds")).status).toBe(200);
  });
});

describe("a path", () => {
  test.each([
    ["/restapi/brands", "/restapi/brands.json"],
    ["/restapi/brands/", "/restapi/brands.json"],
    ["/restapi/brands/1", "/restapi/brands/1.json"],
    ["/restapi/brands/1/", "/restapi/brands/1.json"],
    ["/restapi/brand.json", "/restapi/brands.json"],
    ["/restapi/Brands.json", "/restapi/brands.json"],
    ["/RESTAPI/BRANDS/1.XML", "/restapi/brands/1.xml"],
    ["/restapi/brands.json/1", "/restapi/brands/1.json"],
    ["/brands.json/1", "/restapi/brands/1.json"],
    ["/brands/1.xml", "/restapi/brands/1.xml"],
    ["/restapi/brands.json.json", "/restapi/brands.json"],
    ["/restapi/brands/1.json.json", "/restapi/brands/1.json"],
    ["/restapi/brands.xml.json", "/restapi/brands.xml"],
    ["/restapi/brands.json/", "/restapi/brands.json"],
    ["//brands.json", "/restapi/brands.json"],
    ["//restapi//brands.json", "/restapi/brands.json"],
    ["/api/brands.json", "/restapi/brands.json"],
    ["/restapi/v1/brands.json", "/restapi/brands.json"],
    ["/api/v2/brands/7.xml", "/restapi/brands/7.xml"],
    ["/restapi/order-statuses.json", "/restapi/orderstatuses.json"],
    ["/restapi/order_status/2.xml", "/restapi/orderstatuses/2.xml"],
    ["/restapi/OrderStatus.json", "/restapi/orderstatuses.json"],
    ["/restapi/location/3.json", "/restapi/locations/3.json"],
    ["/restapi/brands.csv", "/restapi/brands.json"],
    ["/restapi/brands/5/json", "/restapi/brands/5.json"],
    ["/restapi/brands.JSON", "/restapi/brands.json"],
    ["/rest/brands.json", "/restapi/brands.json"],
    ["/v1/brands.json", "/restapi/brands.json"],
    ["/restapi/batches.json", "/restapi/batch.json"],
    ["/restapi/undo/", "/restapi/undo.json"],
    ["/restapi/brands/status", "/restapi/brands.json"],
    ["/mcp/", "/mcp"],
    ["/MCP", "/mcp"],
    ["/restapi/mcp", "/mcp"],
    ["/restapi/mcp.json", "/mcp"],
    ["/api/v1/mcp/", "/mcp"],
    ["/mcp/sse", "/mcp"],
    ["/sse", "/mcp"],
    ["/mpc", "/mcp"],
    ["/health", "/healthz"],
    ["/healthz/", "/healthz"],
    ["/Healthz", "/healthz"],
    ["/health.json", "/healthz"],
    ["/restapi/healthz", "/healthz"],
    ["/actuator/health", "/healthz"],
    ["/health-check", "/healthz"],
    ["/health/ready", "/readyz"],
    ["/ready", "/readyz"],
    ["/livez", "/healthz"],
    ["/swagger.json", "/openapi.json"],
    ["/v2/swagger.json", "/openapi.json"],
    ["/swagger/v1/swagger.json", "/openapi.json"],
    ["/swager.json", "/openapi.json"],
    ["/swagger.yaml", "/openapi.yaml"],
    ["/openapi", "/openapi.json"],
    ["/openapi.yml", "/openapi.yaml"],
    ["/OpenAPI.json", "/openapi.json"],
    ["/restapi/openapi.json", "/openapi.json"],
    ["/docs/openapi.json", "/openapi.json"],
    ["/api-docs", "/docs"],
    ["/v3/api-docs", "/docs"],
    ["/swagger-ui/index.html", "/docs"],
    ["/docs/", "/docs"],
    ["/documentation", "/docs"],
    ["/docs/Guide", "/docs/guide"],
    ["/docs/webhook", "/docs/webhooks"],
    ["/docs/problems/notfound", "/docs/problems/not-found"],
    ["/docs/postman", "/docs/postman.json"],
    ["/postman.json", "/docs/postman.json"],
    ["/storefront.xsd", "/schemas/storefront.xsd"],
    ["/schemas/brands.json", "/schemas/brand.json"],
    ["/LLMS.txt", "/llms.txt"],
  ])("%s leads to %s", async (path, meant) => {
    await expectProblem("GET", path, {}, 404, `did you mean \`${meant}\`?`);
  });

  test.each([
    ["/restapi/change.json", "did you mean `/restapi/changes.json`?"],
    ["/changes", "did you mean `/restapi/changes.json`?"],
    ["/restapi/changes/7.xml", "did you mean `/restapi/changes.json`?"],
    ["/api/reports/12", "did you mean `/restapi/report/12.json`?"],
    ["/restapi/report.json", "did you mean `/restapi/report/1.json`?"],
    ["/healt", "did you mean `/health`?"],
    ["/restapi/swagger.json", "there is `/restapi/changes.json`"],
  ])("%s leads to a route without a resource", (path, hint) => {
    const hintFor = createPathHint([], ["/restapi/changes.json", "/restapi/report/{id}.json", "/health"]);
    expect(hintFor(path)).toBe(hint);
  });

  test.each([
    ["/metrics", "the admin listener"],
    ["/restapi/metrics", "the admin listener"],
    ["/console", "the admin listener"],
    ["/operator/sites", "the admin listener"],
    ["/schemas/nothing.json", "`/schemas/brand.json`"],
    ["/docs/nothing", "`/docs/guide` lists the pages"],
    ["/docs/brands", "`/docs/guide` lists the pages"],
    ["/docs/client-0.0.0.tgz", "/docs/client-"],
  ])("%s leads to `%s`", async (path, says) => {
    await expectProblem("GET", path, {}, 404, says);
  });

  test("without agents does not lead to them", async () => {
    const without = await startTestServer({ settings: { MCP: "none" } });
    for (const path of ["/mcp", "/mcp/", "/restapi/mcp", "/sse"]) {
      const { status, text } = await without.call("POST", path, { body: "{}" });
      expect([path, status, textOf(text)]).toEqual([path, 404, expect.not.stringContaining("/mcp`")]);
    }
    await without.stop();
  });

  test.each([
    "/restapi",
    "/restapi/",
    "/restapi/products.json",
    "/restapi/.json",
    "/products.json",
    "/orders.json",
    "/clients",
    "/login",
    "/x",
  ])("%s leads to the lists", async (path) => {
    await expectProblem("GET", path, {}, 404, "there is `/restapi/brands.json`, `/restapi/brands.xml`");
  });
});
