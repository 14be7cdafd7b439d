// Records in the API of the console.

import { describe, expect, test } from "bun:test";
import { createSite } from "../../../src/operator/sites/sites.ts";
import type { ConsoleClient, TestConsole } from "../../support/console/server.ts";
import { useConsoleOn } from "../../support/console/use-console.ts";
import { engines } from "../../support/engine/engines.ts";
import { readCells } from "../../support/workbooks.ts";

const brands = "/sites/shop/records/brands";
const locations = "/sites/shop/records/locations";

describe.each(engines)("records in the console on $name", (kind) => {
  let server: TestConsole;
  let anna: ConsoleClient;
  useConsoleOn(kind, (started, operator) => {
    [server, anna] = [started, operator];
  });

  const add = async (path: string, ...all: object[]) => {
    const added = [];
    for (const values of all) added.push((await anna.call("POST", path, values)).json);
    return added;
  };
  const namesIn = async (path: string) =>
    (await anna.call("GET", path)).json.records.map(({ record }: { record: { Name: string } }) => record.Name);

  test("are found by the words in their fields and ID, in any case, if all words match", async () => {
    await add(
      locations,
      { Name: "Harbour Shop", Code: "A-77", Address: { Town: "Whitby", Country: "GB" } },
      { Name: "Old Mill", Address: { Town: "York", Country: "GB" }, Telephone: { Daytime: "01904 77" } },
      { Name: "Émile's", Address: { Town: "Paris", Country: "FR" } },
    );
    const searches: [string, string[]][] = [
      ["", ["Émile's", "Harbour Shop", "Old Mill"]],
      ["gb", ["Harbour Shop", "Old Mill"]],
      ["GB YORK", ["Old Mill"]],
      ["york  77", ["Old Mill"]],
      ["77", ["Harbour Shop", "Old Mill"]],
      ["2", ["Old Mill"]],
      ["éMILE", ["Émile's"]],
      ["shop york", []],
      ["Name", []],
      [".*", []],
    ];
    for (const [search, names] of searches)
      expect([search, await namesIn(`${locations}?sort=Name&search=${encodeURIComponent(search)}`)]).toEqual([
        search,
        names,
      ]);
  });

  test("are exported as a list shows them, or only the chosen ones, also for an operator who may only look", async () => {
    const names = ["Old Mill", "Harbour, Shop", "=1+1", "Émile's", "two\nlines"];
    await add(locations, ...names.map((Name, index) => ({ Name, Code: `00${index}`, Address: { Town: "York" } })));
    const rita = await server.signIn("rita", [], "viewer");
    const fileOf = (query: string) => rita.call("GET", `${locations}/export?${query}`);
    const idsIn = async (query: string) =>
      (await readCells((await fileOf(`format=xlsx&${query}`)).bytes)).slice(1).map(([id]) => Number(id));
    const shownIn = async (query: string) =>
      (await rita.call("GET", `${locations}?${query}`)).json.records.map(
        ({ record }: { record: { ID: number } }) => record.ID,
      );
    for (const query of ["sort=Name", "sort=Name&order=desc&search=o", "search=00%20york", "search=nothing"])
      expect([query, await idsIn(query)]).toEqual([query, await shownIn(query)]);
    expect(await idsIn("ids=4,2,99&sort=Code&order=desc")).toEqual([4, 2]);
    const { text, headers } = await fileOf("ids=2,3&sort=ID");
    const [, ...rows] = text.split("\r\n").map((line) => line.split(",").slice(0, 3).join());
    expect(rows).toEqual(['2,001,"Harbour', "3,002,=1+1", ""]);
    expect(headers.get("content-disposition")).toMatch(/^attachment; filename="shop-locations-\d{4}-\d\d-\d\d\.csv"$/);
    for (const bad of ["ids=", "ids=1,x", "ids=1,,2", `ids=${"1,".repeat(1000)}1`, "sort=Nothing", "search=a&order=up"])
      expect([bad, (await fileOf(bad)).status]).toEqual([bad, 400]);
  });

  if (kind.name === "PostgreSQL") return;

  test("are suggested by name if a search finds nothing, the nearest names first, and a search for such a name finds its record", async () => {
    const names = ["Alder Beach", "Alder & Beech Ltd", "Émile's", "Harbour Shop", "Old Mill", "Old Mill", "two\nlines"];
    names.push("tea greem", "greem tea co", "greem tea pub", "lavende", "lavendor", "lavenden");
    names.push("L’Oréal", "Big Mc Donald's", "PRESSBYRÅN", "Фикс прайс");
    await add(locations, ...names.map((Name, index) => ({ Name, Code: `C${index}\nx`, Address: { Town: "York" } })));
    const suggested: [string, string[] | undefined][] = [
      ["alder beech", undefined],
      ["Aldr Beech", ["Alder & Beech Ltd", "Alder Beach"]],
      ["beech adler", ["Alder & Beech Ltd", "Alder Beach"]],
      ["emile", ["Émile's"]],
      ["harbuor", ["Harbour Shop"]],
      ["ha rbuor", ["Harbour Shop"]],
      ["odl mill", ["Old Mill"]],
      ["wto", ["two\nlines"]],
      ["green tea", ["greem tea co", "greem tea pub", "tea greem"]],
      ["lavender", ["lavende", "lavendor", "lavenden"]],
      ["loreal", ["L’Oréal"]],
      ["mcdonnalds", ["Big Mc Donald's"]],
      ["mac donalds", ["Big Mc Donald's"]],
      ["presbyran", ["PRESSBYRÅN"]],
      ["фиксс", ["Фикс прайс"]],
      // The beginning of a word, and not the middle.
      ["lorael", ["L’Oréal"]],
      ["rbourr", []],
      ["xy", []],
      ["quite another name", []],
      ["*", []],
      ["a".repeat(255), []],
    ];
    for (const [search, suggestions] of suggested) {
      const found = (await anna.call("GET", `${locations}?search=${encodeURIComponent(search)}`)).json;
      expect([search, found.suggestions]).toEqual([search, suggestions]);
      for (const name of suggestions ?? [])
        expect((await namesIn(`${locations}?search=${encodeURIComponent(name)}`)).includes(name)).toBe(true);
    }
    await anna.change(locations, 4, { Name: "Quay" });
    expect((await anna.call("GET", `${locations}?search=harbuor`)).json.suggestions).toEqual([]);
  });

  test("are sorted by any field in either direction, page by page", async () => {
    await add(brands, { Name: "b" }, { Name: "ä" }, { Name: "C" }, { Name: "a" });
    expect(await namesIn(`${brands}?sort=Name`)).toEqual(["a", "ä", "b", "C"]);
    expect(await namesIn(`${brands}?sort=Name&order=desc&limit=2`)).toEqual(["C", "b"]);
    expect(await namesIn(`${brands}?sort=Name&limit=2&offset=3`)).toEqual(["C"]);
    expect(await namesIn(`${brands}?sort=ID&order=desc&limit=1`)).toEqual(["a"]);
    expect((await anna.call("GET", `${brands}?limit=1&offset=99`)).json).toMatchObject({ records: [], total: 4 });
    expect((await anna.call("GET", `${brands}?search=b`)).json).toMatchObject({ total: 1, size: 4 });
  });

  const badLists: [string, number][] = [
    [`${brands}?sort=Nme`, 400],
    [`${brands}?order=up`, 400],
    [`${brands}?limit=0`, 400],
    [`${brands}?limit=5001`, 400],
    [`${brands}?offset=-1`, 400],
    ["/sites/shop/records/nothing", 404],
    ["/sites/shop/records/keys", 404],
    ["/sites/shop/records/__proto__", 404],
    [`${brands}/0`, 404],
    [`${brands}/x`, 404],
    [`${brands}/9`, 404],
  ];
  test("are not returned for invalid paths and parameters", async () => {
    for (const [path, status] of badLists)
      expect([path, (await anna.call("GET", path)).status]).toEqual([path, status]);
  });

  test("are created, changed only in the fields that are sent, and returned by the public interface", async () => {
    const [created] = await add(locations, { Name: "Mill", Address: { Town: "York" } });
    expect(created).toMatchObject({
      record: { ID: 1, Name: "Mill", Address: { Town: "York", Country: "" } },
      version: expect.any(String),
      run: expect.any(String),
      revisions: { first: 1, last: 1 },
    });
    const changed = await anna.change(locations, 1, { Address: { Country: "GB" } });
    expect(changed.json).toMatchObject({ changed: 1, unchanged: 0, revisions: { first: 2, last: 2 } });
    const { record } = (await anna.call("GET", `${locations}/1`)).json;
    expect(record).toMatchObject({ Name: "Mill", Address: { Town: "York", Country: "GB" } });
    expect((await server.call("GET", "/restapi/locations/1.json")).json.Name).toBe("Mill");
    const again = await anna.change(locations, 1, { Name: "Mill" });
    expect([again.status, again.json.revisions]).toEqual([200, undefined]);
  });

  test("are rejected with the errors of all fields", async () => {
    const { status, json } = await anna.call("POST", locations, { Address: { Town: "x".repeat(2000) }, Colour: "red" });
    expect(status).toBe(400);
    expect(json.errors.map(({ field }: { field: string }) => field).sort()).toEqual(["Address.Town", "Colour", "Name"]);
    expect((await anna.call("GET", locations)).json.total).toBe(0);
  });

  const badBodies: [string, unknown, number][] = [
    ["null", null, 400],
    ["a list", [{ Name: "a" }], 400],
    ["a number for a text", { Name: 5 }, 400],
    ["text that is not JSON", "{", 400],
    ["an empty body", "", 400],
    ["2,000 members", Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`a${i}`, 1])), 400],
    ["deep nesting", { Name: JSON.parse("[".repeat(40) + "]".repeat(40)) }, 400],
    ["a record with an ID", { ID: 7, Name: "a" }, 400],
  ];
  test("are not created from invalid bodies", async () => {
    for (const [name, body, status] of badBodies) {
      const rejected = await anna.call("POST", brands, body);
      expect([name, rejected.status, (await anna.call("GET", brands)).json.total]).toEqual([name, status, 0]);
    }
  });

  test("may have hostile names, which are only text", async () => {
    const names = ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "\u202Eevil", "Robert'); DROP TABLE records;--"];
    await add(brands, ...names.map((Name) => ({ Name })));
    expect(await namesIn(`${brands}?sort=ID`)).toEqual(names);
    for (const name of names) expect(await namesIn(`${brands}?search=${encodeURIComponent(name)}`)).toEqual([name]);
    const { headers } = await anna.call("GET", brands);
    expect(headers.get("Content-Type")).toBe("application/json");
  });

  test("are not changed if the change would overwrite that of another operator", async () => {
    const [{ version }] = await add(brands, { Name: "Acme" });
    const ben = await server.signIn("ben");
    expect((await ben.change(brands, 1, { Name: "Acme Ltd" }, version)).status).toBe(200);
    const { status, json } = await anna.change(brands, 1, { Name: "ACME" }, version);
    expect([status, json.code]).toEqual([412, "precondition-failed"]);
    expect(await namesIn(brands)).toEqual(["Acme Ltd"]);
    // The operator overwrites it on purpose, with the current version.
    const stored = (await anna.call("GET", `${brands}/1`)).json.version;
    await anna.change(brands, 1, { Name: "ACME" }, stored);
    expect(await namesIn(brands)).toEqual(["ACME"]);
  });

  test("are deleted together, and restored by one undo", async () => {
    await add(brands, { Name: "a" }, { Name: "b" }, { Name: "c" });
    const { json } = await anna.call("DELETE", brands, { ids: [1, 3] });
    expect(json).toMatchObject({ deleted: 2, revisions: { first: 4, last: 5 } });
    expect(await namesIn(brands)).toEqual(["b"]);
    const { first, last } = json.revisions;
    const body = { since: first - 1, until: last, run: json.run };
    expect((await anna.call("POST", "/sites/shop/undo", body)).json).toMatchObject({ restored: 2, skipped: [] });
    expect(await namesIn(brands)).toEqual(["a", "b", "c"]);
  });

  const badIds: [string, unknown][] = [
    ["no ID", []],
    ["too many IDs", Array.from({ length: 1001 }, (_, index) => index + 1)],
    ["a name", ["x"]],
    ["a fraction", [1.5]],
    ["zero", [0]],
    ["null", null],
    ["an object", { length: 1 }],
  ];
  test("are not deleted by invalid IDs", async () => {
    await add(brands, { Name: "a" });
    for (const [name, ids] of badIds) {
      const rejected = await anna.call("DELETE", brands, { ids });
      expect([name, rejected.status, await namesIn(brands)]).toEqual([name, 400, ["a"]]);
    }
  });

  test("that were deleted cannot be changed", async () => {
    const [{ version }] = await add(brands, { Name: "a" });
    await anna.call("DELETE", brands, { ids: [1] });
    for (const seen of [version, undefined]) {
      const { status, json } = await anna.change(brands, 1, { Name: "b" }, seen);
      expect([status, json.conflicts]).toMatchObject([412, [{ id: 1, record: null, changed: { name: "anna" } }]]);
    }
  });

  test("of another site are not found", async () => {
    await createSite(server.engine, "toys", {}, 1);
    await add("/sites/toys/records/brands", { Name: "Toy" });
    expect((await anna.call("GET", brands)).json.total).toBe(0);
    expect((await anna.change(brands, 1, { Name: "b" })).status).toBe(412);
    expect(await namesIn("/sites/toys/records/brands")).toEqual(["Toy"]);
  });

  test("are found in all sites of an operator, and in no other site", async () => {
    await createSite(server.engine, "toys", {}, 1);
    for (const site of ["shop", "toys"]) await anna.call("POST", `/sites/${site}/records/brands`, { Name: "Acme" });
    const ben = await server.signIn("ben", ["toys"]);
    const sitesOf = async (client: ConsoleClient) =>
      (await client.call("GET", "/find?text=Acme")).json.found.map(({ site }: { site: string }) => site);
    expect([await sitesOf(anna), await sitesOf(ben)]).toEqual([["shop", "toys"], ["toys"]]);
    for (const query of ["", "?text=%20", `?text=${"a".repeat(256)}`, "?text=a&after=-1"])
      expect([query, (await anna.call("GET", `/find${query}`)).status]).toEqual([query, 400]);
  });
});
