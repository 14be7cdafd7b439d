// Common mistakes, and the advice the response gives. Each is made in both formats where possible.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createPathHint } from "../../src/http/path-advice.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";

let server: TestServer;
let before: string;
beforeAll(async () => {
  server = await startTestServer();
  // Suggestions only include every document once these are rendered.
  await server.call("GET", "/docs", { key: null });
  for (const Name of ["Acme", "Bolt"]) await server.call("POST", "/restapi/brands.json", { body: { Name } });
  before = (await server.call("GET", "/restapi/brands.json")).text;
});
afterAll(async () => {
  expect((await server.call("GET", "/restapi/brands.json")).text).toBe(before);
  await server.stop();
});

const formats = ["json", "xml"] as const;

/** Returns a problem's `detail` and its field errors. */
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

describe("common mistakes in a body", () => {
  test.each<[string, string, string, string]>([
    ["json", "POST", '[{"Name":"x"}]', "to send several, use a batch request: POST /restapi/batch.json"],
    ["json", "POST", "Name=x&AccountNumber=1", 'this looks like a form. Send JSON, such as `{"Name":"Acme"}`'],
    ["xml", "POST", "Name=x", "this looks like a form. Send XML, such as `<Brand><Name>Acme</Name></Brand>`"],
    ["json", "POST", '--b1\r\nContent-Disposition: form-data; name="Name"\r\n\r\nx\r\n--b1--\r\n', "looks like a form"],
    ["json", "POST", "_method=PUT&Name=x", "name it in the header `X-HTTP-Method-Override`"],
    ["json", "POST", '{"_method":"PUT","ID":1}', "name it in the header `X-HTTP-Method-Override`"],
    ["xml", "POST", "<Brand><_method>PUT</_method></Brand>", "name it in the header `X-HTTP-Method-Override`"],
    ["json", "POST", "<Brand><Name>x</Name></Brand>", "This path accepts JSON; send XML to `/restapi/brands.xml`"],
    ["json", "POST", '\ufeff <?xml version="1.0"?><Brand/>', "send XML to `/restapi/brands.xml`"],
    ["xml", "POST", '{"Name":"x"}', "This path accepts XML; send JSON to `/restapi/brands.json`"],
    ["json", "POST", '{"Brand":{"Name":"x"}}', "`Brand`: unknown field; send the record without `Brand` around it"],
    ["json", "POST", '{"data":{"Name":"x"}}', "send the record without `data` around it"],
    [
      "xml",
      "POST",
      "<Results><Brand><Name>x</Name></Brand></Results>",
      "send one <Brand>, without <Results> around it",
    ],
    ["xml", "PUT", '<Brand id="1"><Name>x</Name></Brand>', "unknown field; did you mean `ID`?"],
    ["json", "PUT", '{"id":1,"Name":"x"}', "`id`: unknown field; did you mean `ID`?"],
    ["json", "POST", '{"Name":"x","Town":"Leeds"}', "`Town`: unknown field; did you mean `Address.Town`?"],
    [
      "xml",
      "POST",
      "<Brand><Name>x</Name><Town>Leeds</Town></Brand>",
      "`Town`: unknown field; did you mean <Town> in <Address>?",
    ],
    ["json", "POST", '{"Name":"x","telephone_daytime":"1"}', "did you mean `Telephone.Daytime`?"],
    [
      "json",
      "POST",
      '{"Name":"x","Address":{"AccountNumber":"1"}}',
      "`Address.AccountNumber`: unknown field; did you mean `AccountNumber`?",
    ],
    ["xml", "POST", "<Brand><Address><Name>x</Name></Address></Brand>", "did you mean <Name> in <Brand>?"],
    ["json", "POST", '{"Name":"x","Address":{"Mobil":"1"}}', "did you mean `Telephone.Mobile`?"],
    [
      "json",
      "POST",
      '{"Name":"x","Address.Town":"Leeds"}',
      '`Address.Town`: unknown field; write it as `"Address": {"Town": ...}`',
    ],
    ["json", "POST", '{"Name":"x",}', "the body isn't valid JSON: line 1, column 13: expected a name in double quotes"],
    ["json", "POST", "{\n  'Name': 'x'\n}", "line 2, column 3: expected a name in double quotes, not `'`"],
    [
      "xml",
      "POST",
      "<Brand>\n  <Name>Smith & Sons</Name>\n</Brand>",
      "the body isn't well-formed XML: line 2, column 15: `&`",
    ],
    ["xml", "POST", "<Brand><Name>x</Nmae></Brand>", "line 1, column 15: expected `</Name>`, not `</Nmae>`"],
  ])("%s, %s: %j", async (format, method, body, says) => {
    await expectProblem(method, `/restapi/brands.${format}`, { body }, 400, says);
  });

  test("sent to a record's path in the other format: suggests the right path", async () => {
    await expectProblem(
      "PUT",
      "/restapi/brands/1.json",
      { body: "<Brand/>" },
      400,
      "send XML to `/restapi/brands/1.xml`",
    );
  });

  test("syntax error: `errors` has its position, in both formats", async () => {
    const json = await server.call("POST", "/restapi/brands.json", { body: '{\n"Name": x}' });
    expect(json.json.errors).toEqual([expect.objectContaining({ field: "", line: 2, column: 9 })]);
    const xml = await server.call("POST", "/restapi/brands.xml", { body: "<Brand>\n<Name>" });
    expect(xml.text).toMatch(
      /<errors><i><field><\/field><detail>[^<]+<\/detail><line>2<\/line><column>7<\/column><code>syntax<\/code><\/i><\/errors>/,
    );
  });
});

describe.each(formats)("common mistakes in a write in %s", (format) => {
  const body = format === "json" ? '{"Name":"x"}' : "<Brand><Name>x</Name></Brand>";

  test("no record named: shows all three ways", async () => {
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      for (const way of [`\`/restapi/brands/12.${format}\``, "the body (", `\`/restapi/brands.${format}?ID=12\``]) {
        await expectProblem(method, `/restapi/brands.${format}`, { body }, 400, way);
      }
    }
  });

  test.each(["id", "Id", "iD", "ID[]"])("record named by ?%s=", async (name) => {
    for (const path of ["brands", "brands/1"]) {
      const says = `a delete has no parameter \`${name}\`; did you mean \`ID\`?`;
      await expectProblem("DELETE", `/restapi/${path}.${format}?${name}=1`, {}, 400, says);
    }
  });

  test("POST to an existing record's path", async () => {
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
  ])("If-Match or If-None-Match is %j", async (tag) => {
    for (const name of ["If-Match", "If-None-Match"]) {
      for (const method of ["PUT", "DELETE"]) {
        const options = { body: method === "PUT" ? body : undefined, headers: { [name]: tag } };
        const says = `${name} must be \`*\` or the unchanged \`ETag\` from a response, including the double quotes`;
        await expectProblem(method, `/restapi/brands/1.${format}`, options, 400, says);
      }
    }
  });

  test("tag weakened on the way", async () => {
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

test("lists of entity tags may contain blanks and empty elements", async () => {
  const { headers } = await server.call("GET", "/restapi/brands/1.json");
  for (const tag of [`, "a" ,, ${headers.get("ETag")},`, '""', ' "a"\t']) {
    const response = await server.call("PUT", "/restapi/brands/1.json", {
      body: { Name: "Acme" },
      headers: { "If-Match": tag },
    });
    expect([tag, response.status]).toEqual([tag, tag.includes(",") ? 200 : 412]);
  }
});

test("a read with a malformed If-None-Match returns the record", async () => {
  const response = await server.call("GET", "/restapi/brands/1.json", { headers: { "If-None-Match": "abc" } });
  expect(response.status).toBe(200);
});

describe("common mistakes in parameters", () => {
  const paging = "write `limit` and `offset`, as in `?limit=100&offset=200`, or follow the `next` URL";
  const feed = "for what has changed, read the feed: `/restapi/changes.json?since=now`";
  const noRange = "IDs can't be compared: write `filter[ID][in]=3,5,8`, or read the list in ID order";
  const header = "name it in the header `X-HTTP-Method-Override`";

  test.each<[string, string]>([
    // fields
    ["Name=Acme", "a list has no parameter `Name`; write `filter[Name]=Acme`"],
    ["name=Acme", "write `filter[Name]=Acme`"],
    ["NAME=", "write `filter[Name]=`"],
    ["Name=A%26B%2B+C%25", "write `filter[Name]=A%26B%2B%20C%25`"],
    ["account_number=1", "write `filter[AccountNumber]=1`"],
    ["Address.Town=Leeds", "write `filter[Address.Town]=Leeds`"],
    ["Town=Leeds", "write `filter[Address.Town]=Leeds`"],
    ["address[town]=Leeds", "write `filter[Address.Town]=Leeds`"],
    ["Address=Leeds", "filter by a field in `Address`: `filter[Address.Title]`, "],
    ["Name[contains]=ac", "write `filter[Name][contains]=ac`"],
    ["name_like=ac", "write `filter[Name][contains]=ac`"],
    ["name__icontains=ac", "write `filter[Name][contains]=ac`"],
    ["name_not=ac", "a filter can't compare"],
    ["town__gte=ac", "a filter can't compare"],
    ["town_in=a,b", "write `filter[Address.Town][in]=a,b`"],
    ["q[name_eq]=Acme", "write `filter[Name]=Acme`"],
    ["q[name_cont]=Ac", "write `filter[Name][contains]=Ac`"],
    ["ID=3", "write `filter[ID][in]=3,5,8`, or look one up by its path, such as `/restapi/brands/3.json`"],
    ["id=7", "such as `/restapi/brands/7.json`"],
    ["id:min=3", noRange],
    ["id_gt=3", noRange],
    ["ID[lt]=3", noRange],
    ["ids=3,5", "write `filter[ID][in]=3,5`"],
    ["ids[]=3", "write `filter[ID][in]=3`"],
    ["include=3,5", "write `filter[ID][in]=3,5`"],
    // the list's own parameters, written differently
    ["Limit=5", "a list has no parameter `Limit`; did you mean `limit`?"],
    ["LIMIT=5", "did you mean `limit`?"],
    ["limit[]=5", "did you mean `limit`?"],
    ["limt=5", "did you mean `limit`?"],
    ["Offset=5", "did you mean `offset`?"],
    ["Sort=Name", "did you mean `sort`?"],
    ["sort[]=Name", "did you mean `sort`?"],
    ["sort[Name]=asc", "or `sort=Name` for ascending"],
    ["Fields=Name", "did you mean `fields`?"],
    ["fields[brands]=Name", "write `fields=Name`"],
    ["field=Name", "did you mean `fields`?"],
    ["filter=Acme", "write `filter[Name]=Acme` for an exact value"],
    ["Filter[Name]=Acme", "write `filter[Name]=Acme`"],
    ["fitler[Name]=Acme", "write `filter[Name]=Acme`"],
    ["filter.Name=Bolt", "write `filter[Name]=Bolt`"],
    ["filter[Name=Bolt", "write `filter[Name]=Bolt`"],
    ["filter[Name][contains][x]=Bolt", "write `filter[Name]=Bolt`"],
    ["filterName=Bolt", "write `filter[Name]=Bolt`"],
    ["filter_name=Bolt", "write `filter[Name]=Bolt`"],
    ["filters[Name]=Bolt", "write `filter[Name]=Bolt`"],
    ["filter[Nmae=Bolt", "write `filter[Name]=Acme`"],
    ["where[Name]=Bolt", "write `filter[Name]=Bolt`"],
    ["amp;offset=5", "in a URL, `&` alone separates parameters, so write `&offset=...`"],
    ["limit=2&amp;amp;offset=2", "so write `&offset=...`"],
    // paging in other APIs
    ...`page=2 Page=2 p=2 paged=2 currentPage=2 searchCriteria[currentPage]=2 page[number]=2 page[after]=2 since_id=3 max_id=3 marker=x cursor=x
      continuationToken=x starting_after=brand_3 ending_before=3 after=3 before=3 page_info=eyJ pageToken=x $skiptoken=x first=50 last=50 from=50
      skip=20 $skip=20 startIndex=1 page[offset]=5`
      .split(/\s+/)
      .map((query): [string, string] => [query, paging]),
    ...`per_page=20 pageSize=20 searchCriteria[pageSize]=20 page[size]=20 page[limit]=20 $top=20 max_results=20 rows=20`
      .split(" ")
      .map((query): [string, string] => [query, "write `limit=20`, and `offset` for further pages"]),
    ["per_page=5000", "write `limit=1000`, and `offset` for further pages"],
    ["_limit=20", "did you mean `limit`?"],
    // other features of other APIs
    ["count=1", "the number of records is always in the header `X-Total-Count`"],
    ["count=50", "in the header `X-Total-Count`; for 50 records, write `limit=50`"],
    ["$count=true", "in the header `X-Total-Count`"],
    ["include_totals=true", "in the header `X-Total-Count`"],
    ["order=asc", "write `sort=-Name` for descending"],
    ["orderby=Name", "write `sort=Name`"],
    ["order_by=Name", "write `sort=Name`"],
    ["$orderby=Name", "write `sort=Name`"],
    ["sort_by=Name", "write `sort=Name`"],
    ["searchCriteria[sortOrders][0][field]=name", "write `sort=Name`"],
    ["dir=desc", "write `sort=-Name` for descending"],
    ["$select=Name", "write `fields=Name`"],
    ["include=products", "leave it out; you always get all fields of a record"],
    ["$expand=Address", "leave it out; you always get all fields of a record"],
    ["$filter=Name eq 'Acme'", "write `filter[Name]=Acme` for an exact value"],
    ["searchCriteria[filterGroups][0][filters][0][field]=name", "write `filter[Name]=Acme` for an exact value"],
    ["q=acme", "write `filter[Name][contains]=acm`"],
    ["search=acme", "write `filter[Name][contains]=acm`"],
    ["query=acme", "write `filter[Name][contains]=acm`"],
    ["limit=5&Name=Acme", "write `filter[Name]=Acme`"],
    ...`since=now updated_since=2026-11-01 modified_since=1 updatedSince=1 updated_at_min=1 updated_at[gte]=1 date_modified:min=1 created_after=1 wait=20
      resource=brands collapse=1`
      .split(/\s+/)
      .map((query): [string, string] => [query, feed]),
    ...["from", "after", "since_id", "updated_at"].map((name): [string, string] => [`${name}=2026-11-01`, feed]),
    // of any request
    ["_method=PUT", header],
    ["dryRun=1", "leave it out, because a GET changes nothing"],
    ["api_key=x", "send the API key in the header `X-API-AUTH`"],
    ["format=xml", "choose the format with the path's suffix"],
    ["rnd=0.5", "or call it `_`, which is ignored"],
    ["1732839283511", "or call it `_`, which is ignored"],
    ["callback=f", "(CORS)"],
    ["lang=de", "ask the operator for `serve --ignore-parameters lang`"],
    ["UTM_source=x", "it has `limit`, `offset`, `sort`, `filter[...]` and `fields`"],
    ["toString=1", "it has `limit`"],
    ["__proto__=1", "it has `limit`"],
    ["=x", "put a name before the `=`"],
  ])("%s is rejected on a list", async (query, says) => {
    await expectProblem("GET", `/restapi/brands.json?${query}`, {}, 400, says);
    for (const format of formats)
      expect((await server.call("HEAD", `/restapi/brands.${format}?${query}`)).status).toBe(400);
    await expectProblem(
      "GET",
      `/restapi/brands.xml?${query}`,
      {},
      400,
      says.replace("changes.json", "changes.xml").replace(".json`", ".xml`"),
    );
  });

  test.each<[method: string, path: string, says: string]>([
    [
      "GET",
      "brands/1.json?page=2",
      "a look-up has no parameter `page`; in a list (`/restapi/brands.json`), write `limit`",
    ],
    ["GET", "brands/1.xml?Name=Acme", "in a list (`/restapi/brands.xml`), write `filter[Name]=Acme`"],
    ["GET", "brands/1.json?fields=Name", "in a list (`/restapi/brands.json`), write `filter[ID]=...&fields=Name`"],
    ["GET", "brands/1.json?ID=1", "the path already has the ID"],
    ["GET", "brands/1.json?since=now", feed],
    ["GET", "brands/1.json?dryRun=1", "a GET changes nothing"],
    ["GET", "brands/1.json?x=1", "a look-up has no parameter `x`; it takes none"],
    ["HEAD", "brands/1.json?x=1", ""],
    ["POST", "brands.json?ID=1", "to update the brand 1, send a PUT"],
    ["POST", "brands.json?ID=1&_=2", "to update the brand 1, send a PUT"],
    ["POST", "brands.json?_method=PUT&ID=1", header],
    ["POST", "brands.json?match=AccountNumber", "send one to `/restapi/batch.json?match=AccountNumber`"],
    ["POST", "brands.json?atomic=0", "a create has no parameter `atomic`; it has `dryRun`"],
    ["POST", "brands.json?Name=x", "send the record's fields in the body"],
    ["POST", "brands.json?idempotency_key=x", "send it in the header `Idempotency-Key`"],
    ["PUT", "brands/1.json?Address.Town=x", "send the record's fields in the body"],
    ["PATCH", "brands/1.xml?version=3", "send the `ETag` of the record in the header `If-Match`"],
    ["PUT", "brands/1.json?dryRn=1", "an update has no parameter `dryRn`; did you mean `dryRun`?"],
    ["DELETE", "brands/1.json?dryrun=1", "a delete has no parameter `dryrun`; did you mean `dryRun`?"],
    ["DELETE", "brands/1.json?DryRun=1", "did you mean `dryRun`?"],
    ["DELETE", "brands/1.json?dry_run=1", "did you mean `dryRun`?"],
    ["DELETE", "brands/1.json?dry-run=1", "did you mean `dryRun`?"],
    ["DELETE", "brands/1.json?dryRun[]=1", "did you mean `dryRun`?"],
    ["DELETE", "brands/1.json?simulate=1", "did you mean `dryRun=1`?"],
    ["DELETE", "brands/1.json?dryRun=true", "`dryRun` must be 0 or 1, not `true`"],
    ["DELETE", "brands/1.json?dryRun", "`dryRun` must be 0 or 1, not ``"],
    ["DELETE", "brands/1.json?dryRun=1&dryRun=1", "`dryRun` appears more than once"],
    ["DELETE", "brands/1.json?force=true", "a delete needs no confirmation"],
    [
      "DELETE",
      "brands.json?filter[Name]=Acme",
      "find the ID in a list (`/restapi/brands.json`) first: write `filter[Name]=Acme`",
    ],
    ["DELETE", "brands.json?ID=x", "`ID` must be a whole number from 1, not `x`"],
    ["POST", "batch.json?ID=1", "set `ID` in each operation"],
    ["POST", "batch.json?Name=x", "in its operation's `Record`"],
    ["POST", "batch.json?upsert=Name", "did you mean `match`?"],
    ["POST", "batch.json?dry=1", "did you mean `dryRun=1`?"],
    ["POST", "undo.xml?run=x", "an undo has no parameter `run`; put the run in the body"],
    ["GET", "changes.json?ID=1", "look a record up by its path, such as `/restapi/brands/1.json`"],
  ])("%s %s is rejected", async (method, path, says) => {
    // The body names brand 1 and is valid everywhere, so a request that isn't rejected changes something.
    const body = path.includes("xml") ? "<Brand><Name>new</Name></Brand>" : { Name: "new" };
    const options = method === "POST" || method.startsWith("P") ? { body } : {};
    if (method === "HEAD") expect((await server.call(method, `/restapi/${path}`)).status).toBe(400);
    else await expectProblem(method, `/restapi/${path}`, options, 400, says);
  });

  test("POST overridden to PUT takes the parameters of PUT", async () => {
    const headers = { "X-HTTP-Method-Override": "PUT" };
    const options = { headers, body: { Name: "Acme" } };
    expect((await server.call("POST", "/restapi/brands.json?ID=1", options)).status).toBe(200);
  });

  test("a paginator written for another interface stops at its first request", async () => {
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

  const ignored = ["_", "v", "t", "ts", "cb", "nocache", "cachebuster", "rand", "utm_source", "utm_"];
  test.each([
    ...ignored.map((name) => `${name}=1`),
    "_",
    "_=1&_=2",
    "%5F=1",
  ])("%s is ignored by every request", async (query) => {
    expect((await server.call("GET", `/restapi/brands.json?${query}`)).text).toBe(before);
    expect((await server.call("GET", `/restapi/brands/1.json?${query}`)).status).toBe(200);
    expect((await server.call("GET", `/restapi/changes.json?since=now&${query}`)).status).toBe(200);
    expect((await server.call("PUT", `/restapi/brands/1.json?${query}`, { body: { Name: "Acme" } })).status).toBe(200);
    expect((await server.call("POST", `/restapi/batch.json?${query}`, { body: { Operations: [] } })).status).toBe(200);
    expect((await server.call("POST", `/restapi/undo.json?${query}`, { body: { Run: "abc-1-1" } })).status).toBe(404);
  });

  test("OPTIONS ignores bad parameters, so that a script can read the problem when it sends the real request", async () => {
    for (const path of ["brands.json", "brands/1.xml", "batch.json"])
      expect((await server.call("OPTIONS", `/restapi/${path}?x=1&filter[Name]=%E9`, { key: null })).status).toBe(204);
  });

  test("parameters the operator named are ignored, and no others", async () => {
    const own = await startTestServer({ settings: { IGNORE_PARAMETERS: "lang, theme" } });
    expect((await own.call("GET", "/restapi/brands.json?lang=de&theme=x&_=1")).json).toEqual([]);
    const { status } = await own.call("POST", "/restapi/brands.json?lang=de", { body: { Name: "Acme" } });
    expect(status).toBe(201);
    expect((await own.call("GET", "/restapi/brands.json?Lang=de")).status).toBe(400);
    await own.stop();
  });

  test("thousands of parameters cost little", async () => {
    for (const query of [
      "isin".repeat(3000),
      Array(4000).fill("x=1").join("&"),
      `${Array(4000).fill("_").join("&")}&notin`,
    ])
      expect((await server.call("GET", `/restapi/brands.json?${query}`)).status).toBe(400);
  });
});

describe("method override in another interface's header", () => {
  test.each(["X-HTTP-Method", "X-Method-Override", "x-http-method"])("%s is rejected with any method", async (name) => {
    const says = "name it in the header `X-HTTP-Method-Override`";
    for (const value of ["DELETE", "PUT", "GET"]) {
      const headers = { [name]: value };
      for (const format of formats) {
        const body = format === "json" ? '{"Name":"x"}' : "<Brand><Name>x</Name></Brand>";
        await expectProblem("POST", `/restapi/brands.${format}`, { headers, body }, 400, says);
        await expectProblem("GET", `/restapi/brands/1.${format}`, { headers }, 400, says);
        await expectProblem("PUT", `/restapi/brands/1.${format}`, { headers, body }, 400, says);
        await expectProblem("DELETE", `/restapi/brands/1.${format}`, { headers }, 400, says);
        await expectProblem("POST", `/restapi/batch.${format}`, { headers, body }, 400, says);
      }
    }
  });
});

describe("a query that isn't percent-encoded UTF-8 is rejected", () => {
  test.each([
    ["Caf%E9", "`%E9` isn't UTF-8; if that is `é`, send `%C3%A9`"],
    ["%DFtrasse", "if that is `ß`, send `%C3%9F`"],
    ["%u00E9", "`%u00E9` isn't percent-encoding; send `%C3%A9` for `é`"],
    ["%uD83D%uDE00", "send `%F0%9F%98%80` for `😀`"],
    ["%uD83D", "`%uD83D` isn't percent-encoding"],
    ["%ED%A0%BD%ED%B8%80", "has surrogates"],
    ["%C0%AF", "`%C0%AF` isn't UTF-8"],
    ["%F4%90%80%80", "isn't UTF-8"],
    ["%C3", "isn't UTF-8"],
    ["100%", "write `%25` for a `%`"],
    ["100%25%", "write `%25` for a `%`"],
    ["%zz", "write `%25` for a `%`"],
    ["%2", "write `%25` for a `%`"],
  ])("%s", async (bad, says) => {
    for (const query of [`filter[Name]=${bad}`, `filter[${bad}]=x`, `${bad}=x`, bad, `limit=1&_=${bad}`])
      await expectProblem("GET", `/restapi/brands.json?${query}`, {}, 400, says);
    for (const path of ["brands/1.xml", "changes.json"])
      await expectProblem("GET", `/restapi/${path}?_=${bad}`, {}, 400, says);
    await expectProblem("DELETE", `/restapi/brands/1.json?ID=1&_=${bad}`, {}, 400, says);
    await expectProblem("POST", `/restapi/brands.xml?${bad}`, { body: "<Brand><Name>x</Name></Brand>" }, 400, says);
    await expectProblem("POST", `/restapi/batch.json?match=${bad}`, { body: { Operations: [] } }, 400, says);
    await expectProblem("POST", `/restapi/undo.json?dryRun=${bad}`, { body: { Run: "x" } }, 400, says);
  });
});

describe("a path that doesn't exist", () => {
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
    ["/brands.json", "/restapi/brands.json"],
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
    ["/restapi/brands.jsn", "/restapi/brands.json"],
    ["/restapi/brands.xm", "/restapi/brands.xml"],
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
  ])("%s: did you mean %s?", async (path, meant) => {
    await expectProblem("GET", path, {}, 404, `did you mean \`${meant}\`?`);
  });

  test.each([
    ["/restapi/change.json", "did you mean `/restapi/changes.json`?"],
    ["/changes", "did you mean `/restapi/changes.json`?"],
    ["/restapi/changes/7.xml", "did you mean `/restapi/changes.json`?"],
    ["/api/reports/12", "did you mean `/restapi/report/12.json`?"],
    ["/restapi/report.json", "did you mean `/restapi/report/1.json`?"],
    ["/healt", "did you mean `/health`?"],
    ["/restapi/swagger.json", "available paths: `/restapi/changes.json`"],
  ])("%s: suggests a route that isn't a resource's", (path, hint) => {
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
  ])("%s: the problem mentions %s", async (path, says) => {
    await expectProblem("GET", path, {}, 404, says);
  });

  test("with --mcp none, /mcp is never suggested", async () => {
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
  ])("%s: shows the lists there are", async (path) => {
    await expectProblem("GET", path, {}, 404, "available paths: `/restapi/brands.json`, `/restapi/brands.xml`");
  });
});
