// Filters, sorting, fields and pages (contract section 6).

import { afterAll, describe, expect, test } from "bun:test";
import { startTestServer } from "../support/http/server.ts";
import { exchangeOnce, toRequest } from "../support/wire/client.ts";

const names = ["delta", "Alpha", "charlie", "bravo", "alpha", "Écho", "echo"];
const counties = ["Tyne, Wear", '6" pipe', " padded "];
const server = await startTestServer();
for (const [index, Name] of names.entries()) {
  const body = {
    Name,
    AccountNumber: String(index % 2),
    Address: { Town: `Town ${index}`, Country: index < 3 ? "GB" : "DE", County: counties[index] ?? "" },
  };
  await server.call("POST", "/restapi/brands.json", { body });
}
afterAll(() => server.stop());

const list = (query: string) => server.call("GET", `/restapi/brands.json?${query}`);

/** 15 filters that every brand passes. */
const passed =
  `AccountNumber ID Telephone.Daytime Telephone.Evening Telephone.Mobile Address.Title Address.Firstname Address.Surname
  Address.AddressLine1 Address.AddressLine2 Address.Town Address.County Address.Postcode Address.Country`
    .split(/\s+/)
    .map((path) => `filter[${path}][contains]=`)
    .concat("filter[ID][in]=1,2,3,4,5,6,7")
    .join("&");

const idsOf = async (query: string) => (await list(query)).json.map(({ ID }: { ID: number }) => ID);

test.each([
  ["limit=3", [1, 2, 3]],
  ["limit=3&offset=5", [6, 7]],
  ["offset=5", [6, 7]],
  ["limit=1000", [1, 2, 3, 4, 5, 6, 7]],
  ["offset=99", []],
  ["sort=ID", [1, 2, 3, 4, 5, 6, 7]],
  ["sort=-ID&limit=2", [7, 6]],
  ["sort=AccountNumber", [1, 3, 5, 7, 2, 4, 6]],
  ["sort=-AccountNumber,-ID", [6, 4, 2, 7, 5, 3, 1]],
  ["sort=Address.Country,-Address.Town", [7, 6, 5, 4, 3, 2, 1]],
  ["filter[Name]=Alpha", [2]],
  ["filter[Name][contains]=ALPHA", [2, 5]],
  ["filter[Name][contains]=%C3%89CHO", [6]],
  ["filter[Address.Country]=GB&filter[AccountNumber]=0", [1, 3]],
  ["filter[ID]=4", [4]],
  ["filter[ID][contains]=4", [4]],
  ["filter[ID][in]=5", [5]],
  ["filter[ID][in]=5,3,99,3", [3, 5]],
  ["filter[ID][in]=5,3,2&filter[Name][contains]=a&sort=-Name", [3, 2, 5]],
  [`filter[ID][in]=${Array.from({ length: 1000 }, (_, i) => i + 5).join()}`, [5, 6, 7]],
  ["filter[Name][in]=alpha", [5]],
  ["filter[Name][in]=echo,Alpha,none,echo", [2, 7]],
  ["filter[Name][in]=echo,Alpha&filter[AccountNumber][in]=0,1&sort=-Name", [7, 2]],
  ["filter[Address.Town][in]=Town+3,Town%204", [4, 5]],
  ['filter[Address.County][in]="Tyne,+Wear",x', [1]],
  ['filter[Address.County][in]="6""+pipe"', [2]],
  ['filter[Address.County][in]=6"+pipe,"+padded+"', [2, 3]],
  ['filter[Address.County][in]=""', [4, 5, 6, 7]],
  [`filter[Name][in]=${Array.from({ length: 999 }, (_, i) => i).join()},delta`, [1]],
  ["sort=AccountNumber&sort=-ID", [7, 5, 3, 1, 6, 4, 2]],
  [`sort=${"AccountNumber,".repeat(7)}-ID`, [7, 5, 3, 1, 6, 4, 2]],
  [`filter[Name][contains]=a&${passed}`, [1, 2, 3, 4, 5]],
  ["filter[Name]=alpha&filter[Name][contains]=A", [5]],
  ["fields=Name&fields=ID&sort=-ID&sort=Name&limit=2", [7, 6]],
  ["filter[Name]=", []],
  ["filter%5BName%5D=bravo", [4]],
  ["_=12345&nocache", [1, 2, 3, 4, 5, 6, 7]],
  ["limit=1&filter[Address.Town]=Town+1", [2]],
])("`%s` returns the right records in the right order", async (query, ids) => {
  expect(await idsOf(query)).toEqual(ids);
});

test("sort: people's order of names, ignoring case first, with accents next to their letter", async () => {
  const sorted = (await list("sort=Name&fields=Name")).json.map(({ Name }: { Name: string }) => Name);
  expect(sorted).toEqual(["alpha", "Alpha", "bravo", "charlie", "delta", "echo", "Écho"]);
});

test("fields: the ID and the named fields, in the order of the declaration", async () => {
  const response = await list("fields=Address.Town,Name&limit=1");
  expect(response.text).toBe('[{"ID":1,"Name":"delta","Address":{"Town":"Town 0"}}]');
  expect((await list("fields=Address.Town&limit=1&fields=Name")).text).toBe(response.text);
  expect((await list("fields=ID&limit=2")).json).toEqual([{ ID: 1 }, { ID: 2 }]);
  expect(Object.keys((await list("fields=Address&limit=1")).json[0].Address)).toHaveLength(9);
  const xml = await server.call("GET", "/restapi/brands.xml?fields=Name&limit=1");
  expect(xml.text).toEndWith('<Results><Brand ID="1"><Name>delta</Name></Brand></Results>');
});

test("sorted and filtered lists are up to date after every write", async () => {
  const busy = await startTestServer();
  const present = new Map<number, string>();
  const ask = async (query: string) =>
    (await busy.call("GET", `/restapi/brands.json?${query}`)).json.map(({ ID }: { ID: number }) => ID);
  const byName = () => [...present.keys()].sort((a, b) => compareNames(present.get(a), present.get(b)) || a - b);
  const compareNames = new Intl.Collator("und").compare as (a?: string, b?: string) => number;
  for (let i = 1; i <= 60; i++) {
    const body = { Name: `${"cab"[i % 3]}${i % 7}` };
    if (i % 4 !== 3) present.set((await busy.call("POST", "/restapi/brands.json", { body })).json.ID, body.Name);
    else {
      const ID = byName()[i % present.size] as number;
      if (i % 8 === 3) {
        await busy.call("DELETE", `/restapi/brands/${ID}.json`);
        present.delete(ID);
      } else {
        await busy.call("PUT", "/restapi/brands.json", { body: { ID, ...body } });
        present.set(ID, body.Name);
      }
    }
    expect(await ask("sort=Name")).toEqual(byName());
    expect(await ask("sort=Name&filter[Name][contains]=A")).toEqual(
      byName().filter((id) => present.get(id)?.includes("a")),
    );
    expect(await ask("filter[Name]=b1")).toEqual(
      [...present.keys()].sort((a, b) => a - b).filter((id) => present.get(id) === "b1"),
    );
  }
  await busy.stop();
});

test("filters match the same records as checking each record, whatever was requested before", async () => {
  const busy = await startTestServer();
  const towns = ["Leeds", "leeds", "York", ""];
  for (let i = 1; i <= 300; i++) await busy.call("POST", "/restapi/brands.json", { body: brandOf(i) });
  function brandOf(i: number) {
    const Address = { Town: towns[i % 4], County: `C${i % 5}`, Title: i % 2 ? "Ms" : "", Surname: `S${i % 7}` };
    return { Name: `Brand ${i}`, AccountNumber: String(i % 3), Telephone: { Daytime: String(i) }, Address };
  }
  const fields = ["Name", "AccountNumber", "Telephone.Daytime", "Address.Town", "Address.County", "Address.Title"];
  const values = ["Brand 1", "1", "12", "LEEDS", "C2", ""];
  for (let round = 0; round < 40; round++) {
    const chosen = fields.flatMap((path, index) => {
      const kind = Math.floor(round / 2 ** index) % 2 === 0 ? undefined : (round + index) % 2 ? "contains" : "equals";
      return kind ? [{ path, kind, value: values[index] as string }] : [];
    });
    if (round % 5 === 4) await busy.call("PUT", `/restapi/brands/${round}.json`, { body: brandOf(round + 1) });
    const query = chosen.map(
      ({ path, kind, value }) => `filter[${path}]${kind === "contains" ? "[contains]" : ""}=${value}`,
    );
    const all = (await busy.call("GET", "/restapi/brands.json")).json;
    const passing = all.filter((record: Record<string, unknown>) =>
      chosen.every(({ path, kind, value }) => {
        // biome-ignore lint/suspicious/noExplicitAny: a record of any depth
        const text = path.split(".").reduce((at: any, name) => at[name], record) as string;
        return kind === "equals" ? text === value : text.toLowerCase().includes(value.toLowerCase());
      }),
    );
    const asked = await busy.call("GET", `/restapi/brands.json?sort=ID&${query.join("&")}`);
    expect([query, asked.json]).toEqual([query, passing]);
  }
  await busy.stop();
});

test("X-Total-Count: the number of matching records, with and without a limit", async () => {
  const totals = await Promise.all(["", "limit=2", "filter[AccountNumber]=1&limit=1"].map(list));
  expect(totals.map((response) => response.headers.get("X-Total-Count"))).toEqual(["7", "7", "3"]);
});

test("Link: leads through all pages and keeps the other parameters", async () => {
  const seen: number[] = [];
  let path: string | undefined = "/restapi/brands.json?sort=-ID&limit=3&_=1";
  let pages = 0;
  while (path) {
    const response = await server.call("GET", path);
    seen.push(...response.json.map(({ ID }: { ID: number }) => ID));
    path = /<([^>]+)>; rel="next"/.exec(response.headers.get("Link") as string)?.[1];
    pages++;
  }
  expect([seen, pages]).toEqual([[7, 6, 5, 4, 3, 2, 1], 3]);
});

test("a page requested before shows the next change", async () => {
  const { key } = server;
  const page = async () => (await server.call("GET", "/restapi/brands.xml?sort=-ID&limit=1&fields=Name", { key })).text;
  const id = (await server.call("POST", "/restapi/brands.json", { body: { Name: "before" } })).json.ID;
  expect(await page()).toContain("<Name>before</Name>");
  await server.call("PUT", `/restapi/brands/${id}.json`, { body: { Name: "after" } });
  expect(await page()).toContain("<Name>after</Name>");
  await server.call("DELETE", `/restapi/brands/${id}.json`);
  expect(await page()).not.toContain("after");
});

test("Link: first, prev, next and last", async () => {
  const link = (await list("limit=2&offset=4")).headers.get("Link");
  const page = (offset: number, rel: string) => `</restapi/brands.json?limit=2&offset=${offset}>; rel="${rel}"`;
  expect(link).toBe([page(0, "first"), page(2, "prev"), page(6, "next"), page(6, "last")].join(", "));
  expect((await list("sort=Name")).headers.get("Link")).toBeNull();
});

describe("Link at the edges", () => {
  // 5 of the 7 records contain an `a`.
  const filtered = (name: string) => `filter%5BName%5D%5Bcontains%5D=${name}&`;
  test.each<[string, string, Record<string, number>]>([
    ["the whole list in one page", "limit=7", { first: 0, last: 0 }],
    ["a limit beyond the list", "limit=8", { first: 0, last: 0 }],
    ["one less than the list", "limit=6", { first: 0, next: 6, last: 6 }],
    ["an exact multiple, at the beginning", `${filtered("a")}limit=5`, { first: 0, last: 0 }],
    ["the last page, full", "limit=1&offset=6", { first: 0, prev: 5, last: 6 }],
    ["the page before it", "limit=1&offset=5", { first: 0, prev: 4, next: 6, last: 6 }],
    ["the second record", "limit=2&offset=1", { first: 0, prev: 0, next: 3, last: 6 }],
    ["right behind the end", "limit=2&offset=7", { first: 0, prev: 5, last: 6 }],
    ["just beyond the end", "limit=2&offset=8", { first: 0, prev: 6, last: 6 }],
    ["far beyond the end", "limit=2&offset=1000", { first: 0, prev: 6, last: 6 }],
    ["far beyond the end of one page", "limit=7&offset=1000", { first: 0, prev: 0, last: 0 }],
    ["an empty list", `${filtered("none")}limit=2`, { first: 0, last: 0 }],
    ["beyond the end of an empty list", `${filtered("none")}limit=2&offset=4`, { first: 0, prev: 0, last: 0 }],
  ])("%s: %s", async (_, query, pages) => {
    const link = (await list(query)).headers.get("Link") as string;
    const limit = /limit=\d+/.exec(query)?.[0];
    const rest = query.slice(0, query.indexOf("limit="));
    const expected = Object.entries(pages).map(
      ([rel, offset]) => `</restapi/brands.json?${rest}${limit}&offset=${offset}>; rel="${rel}"`,
    );
    expect(link.split(", ")).toEqual(expected);
  });
});

describe("an invalid value is rejected", () => {
  test.each([
    ["limit=0", "`limit` must be a whole number from 1 to 1000, not `0`"],
    ["limit=1001", "`limit` must be a whole number from 1 to 1000, not `1001`"],
    ["limit=", "`limit` must be"],
    ["limit=1e2", "`limit` must be"],
    ["limit=1&limit=2", "`limit` appears more than once"],
    ["offset=-1", "`offset` must be a whole number from 0, not `-1`"],
    ["sort=Nmae", "`sort`: unknown field `Nmae`; did you mean `Name`?"],
    ["sort=", "`sort`: unknown field ``"],
    ["sort=Address", "`sort`: `Address` is a group of fields; use one of them, such as `Address.Title`"],
    ["sort=Name desc", "`sort`: write `-Name` for descending and `Name` for ascending, not `Name desc`"],
    ["sort=Address.Town:ASC", "`sort`: write `-Address.Town` for descending"],
    ["sort=%2BID", "`sort`: write `-ID` for descending"],
    ["sort=+Name", "`sort`: write `-Name` for descending"],
    ["sort=Nmae desc", "`sort`: unknown field `Nmae desc`"],
    [`sort=${Array(9).fill("Name").join()}`, "`sort`: at most 8 fields, not 9"],
    [`${"sort=Name,ID&".repeat(5)}`, "`sort`: at most 8 fields, not 10"],
    ["filter[name]=x", "`filter`: unknown field `name`; did you mean `Name`?"],
    [
      "filter[Name][starts]=x",
      "`filter`: unknown operator `starts`; Name supports `filter[Name]=`, `filter[Name][contains]=` and `filter[Name][in]=`",
    ],
    [
      "filter[ID][gt]=5",
      "`filter`: unknown operator `gt`; ID supports `filter[ID]=`, `filter[ID][contains]=` and `filter[ID][in]=`",
    ],
    [
      "filter[Name]=a&filter[Name]=a",
      "`filter[Name]` appears more than once; for several values, write `filter[Name][in]=A-1,A-2`",
    ],
    ["filter[Name]=a&filter%5BName%5D=b", "`filter[Name]` appears more than once"],
    [
      "filter[Name][contains]=a&filter[Name][contains]=b",
      "`filter[Name][contains]` appears more than once; send a request for each value",
    ],
    ["filter[ID]=1&filter[ID]=2", "`filter[ID]` appears more than once; for several IDs, write `filter[ID][in]=3,5,8`"],
    ["filter[Name][__proto__]=x", "`filter`: unknown operator `__proto__`"],
    ["filter[Name][in]=", '`filter[Name][in]`: value 1 is empty; for records whose field is empty, write `""`'],
    ["filter[Name][in]=a,,b", "`filter[Name][in]`: value 2 is empty"],
    ["filter[Name][in]=a,", "`filter[Name][in]`: value 2 is empty"],
    ["filter[Name][in]=a,+b", "`filter[Name][in]`: value 2 starts or ends with a space"],
    ["filter[Name][in]=a+,b", "`filter[Name][in]`: value 1 starts or ends with a space"],
    ['filter[Name][in]=a,"b', "`filter[Name][in]`: value 2 has a quote too few or too many"],
    ['filter[Name][in]="b"+Ltd,a', "`filter[Name][in]`: value 1 has a quote too few or too many"],
    ["filter[Name][in]=a&filter[Name][in]=b", "`filter[Name][in]` appears more than once; for several values, write"],
    [`filter[Name][in]=${Array(1001).fill("a").join()}`, "`filter[Name][in]`: at most 1000 values, not 1001"],
    ["filter[Address][in]=a", "`filter`: `Address` is a group of fields"],
    ["filter[ID]=x", "`filter[ID]`: IDs are whole numbers, starting at 1, not `x`"],
    [
      "filter[ID]=3,5",
      "`filter[ID]`: IDs are whole numbers, starting at 1, not `3,5`; for several, write `filter[ID][in]=3,5,8`",
    ],
    ["filter[ID][in]=", "`filter[ID][in]`: IDs are whole numbers, starting at 1, not ``"],
    ["filter[ID][in]=1,,2", "`filter[ID][in]`: IDs are whole numbers, starting at 1, not ``"],
    ["filter[ID][in]=1, 2", "`filter[ID][in]`: IDs are whole numbers, starting at 1, not ` 2`"],
    ["filter[ID][in]=1&filter[ID][in]=2", "`filter[ID][in]` appears more than once"],
    [`filter[ID][in]=${Array(1001).fill(1).join()}`, "`filter[ID][in]`: at most 1000 IDs, not 1001"],
    [`filter[Name]=x&filter[Address.Town]=x&${passed}`, "`filter`: at most 16 filters"],
    ["filter[__proto__]=x", "`filter`: unknown field `__proto__`"],
    ["fields=", "`fields`: unknown field ``"],
    ["fields=Name,Town", "`fields`: unknown field `Town`; did you mean `Address.Town`?"],
  ])("%s", async (query, detail) => {
    const response = await list(query);
    expect([response.status, response.json.type]).toEqual([400, "/docs/problems/bad-request"]);
    expect(response.json.detail).toContain(detail);
  });
});

test("raw bytes in a query are searched for if they're UTF-8, and rejected otherwise", async () => {
  const ask = async (bytes: string) => {
    const line = `GET /restapi/brands.json?fields=ID&filter[Name]=${bytes} HTTP/1.1`;
    const [response] = await exchangeOnce(server.port, toRequest(line, [`X-API-AUTH: ${server.key}`]));
    return [response?.status, response?.body];
  };
  expect(await ask("\xc3\x89cho")).toEqual([200, '[{"ID":6}]']);
  for (const bytes of ["\xc9cho", "\xc3", "\xed\xa0\x80", "\xc3\x89cho\xff"])
    expect(await ask(bytes)).toEqual([400, expect.stringContaining("isn't percent-encoded UTF-8")]);
});

test("a large list is compressed as the client asks, with its own ETag", async () => {
  const large = await startTestServer();
  for (let i = 0; i < 20; i++) await large.call("POST", "/restapi/brands.json", { body: { Name: `Brand ${i}` } });
  const plain = await large.call("GET", "/restapi/brands.json", { headers: { "Accept-Encoding": "identity" } });
  const etags = new Set([plain.headers.get("ETag")]);
  const cases = [
    ["gzip", "gzip"],
    ["gzip, zstd", "zstd"],
    ["zstd;q=0.5, gzip", "gzip"],
    // A client may not know zstd, but any that decompresses knows gzip.
    ["*", "gzip"],
    ["*;q=0.1", "gzip"],
    ["br, *;q=0.5", "gzip"],
    ["zstd, *", "zstd"],
    ["gzip;q=0, *", "zstd"],
    ["gzip;q=0.5, *;q=0.8", "zstd"],
    ["gzip;q=0", null],
    ["br", null],
    ["", null],
    ["*;q=0", null],
    ["identity;q=0", null],
    ["identity", null],
    ["identity, gzip", "gzip"],
    ["identity;q=0, gzip;q=0.001", "gzip"],
    ["identity, gzip;q=0.5", null],
    ["gzip;q=0.5, zstd;q=0.7, identity;q=0.6", "zstd"],
    ["gzip;q=0.5, zstd;q=0.7, identity;q=0.8", null],
    ["gzip;q=0.3, *;q=0.5, zstd;q=0", null],
    ["gzip;q=0.2, identity;q=0.1", "gzip"],
    ["GZIP ; Q=1.000", "gzip"],
    ["X-Gzip", "gzip"],
    ["x-gzip;q=0.2, zstd;q=0.1", "gzip"],
    ["x-zstd", null],
    ["gzip;q=0, gzip", "gzip"],
    ["gzip, gzip;q=0", "gzip"],
    ["zstd;q=0.1, gzip;q=0.5, zstd", "zstd"],
    [",, gzip,;,", "gzip"],
    ["gzip;x=1;q=0", null],
    ...["x", "", "2", "1.1", "1.0000", "0.1234", "-1", "+1", ".5", "1e0", "0x1", "Infinity", '"1"', " 1"].map(
      (weight) => [`gzip;q=${weight}, zstd;q=0.001`, "zstd"] as const,
    ),
    ["gzip;q, zstd;q=0.001", "zstd"],
    ["gzip;q =1, zstd;q=0.001", "zstd"],
    ["identity;q=x, gzip;q=0.1", "gzip"],
  ] as const;
  for (const [accepted, coding] of cases) {
    const response = await fetch(`${large.url}/restapi/brands.json`, {
      headers: { "X-API-AUTH": large.key, "Accept-Encoding": accepted },
      decompress: false,
    } as RequestInit);
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect([accepted, response.headers.get("Content-Encoding")]).toEqual([accepted, coding]);
    expect(response.headers.get("Vary")).toBe("Accept-Encoding");
    const text = coding === "gzip" ? Bun.gunzipSync(bytes) : coding === "zstd" ? Bun.zstdDecompressSync(bytes) : bytes;
    expect(Buffer.from(text).toString()).toBe(plain.text);
    expect([accepted, response.headers.get("ETag")?.endsWith(`-json${coding ? `-${coding}` : ""}"`)]).toEqual([
      accepted,
      true,
    ]);
    etags.add(response.headers.get("ETag"));
  }
  expect(etags.size).toBe(3);
  const lines = ["Accept-Encoding: gzip;q=0.5", "Accept-Encoding: identity;q=0.7", `X-API-AUTH: ${large.key}`];
  const [plainest] = await exchangeOnce(large.port, toRequest("GET /restapi/brands.json HTTP/1.1", lines));
  expect([plainest?.status, plainest?.headers["content-encoding"]]).toEqual([200, undefined]);
  await large.stop();
});
