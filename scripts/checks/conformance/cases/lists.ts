// Contract section 6: reading less.

import { casesOf } from "../case.ts";
import type { ShopRecord } from "../records.ts";
import type { Shop } from "../shop.ts";

const { both } = casesOf(6);
const filters = "Up to 16 filters";
const links = "With `limit`, a list";
const others = "Unknown parameters get a 400";

export const listCases = [
  both("`?limit=`, `?offset=`", "limit and offset select part of the list; limit is 1 to 1000", async (shop) => {
    await createNamed(shop, ["a", "b", "c"]);
    const all = await names(shop, "");
    shop.same(await get(shop, "&limit=2"), "names", await names(shop, "&limit=2"), all.slice(0, 2));
    shop.same(await get(shop, "&limit=2&offset=2"), "names", await names(shop, "&limit=2&offset=2"), all.slice(2));
    shop.status(await get(shop, "&limit=1000"), 200);
    for (const value of [
      "limit=0",
      "limit=1001",
      "limit=-1",
      "limit=x",
      "limit=",
      "limit=1.5",
      "offset=-1",
      "offset=x",
    ])
      shop.problem(await shop.call("GET", `orderstatuses?${value}`), 400);
  }),
  both("`?sort=Name` or `-Name`", "sort goes up or down, takes several fields, and breaks ties by ID", async (shop) => {
    const towns = ["Leeds", "York", "Leeds", "Bath"];
    for (const [i, Town] of towns.entries())
      await shop.create("brands", { Name: `${shop.mark} ${i % 2}`, AccountNumber: String(i), Address: { Town } });
    const sorted = async (sort: string) =>
      (await shop.own("brands", `&${sort}`)).map(({ AccountNumber }) => AccountNumber);
    const answer = await shop.call("GET", `brands?filter[Name][contains]=${shop.mark}&sort=Address.Town`);
    const expected: Record<string, string[]> = {
      "sort=Address.Town": ["3", "0", "2", "1"],
      "sort=-Address.Town": ["1", "0", "2", "3"],
      "sort=Name": ["0", "2", "1", "3"],
      "sort=-Name,Address.Town": ["3", "1", "0", "2"],
      "sort=-Name&sort=Address.Town": ["3", "1", "0", "2"],
      "sort=-ID": ["3", "2", "1", "0"],
    };
    for (const [sort, order] of Object.entries(expected))
      shop.same(answer, `the order of ${sort}`, await sorted(sort), order);
    const fields =
      "Name,AccountNumber,ID,Telephone.Daytime,Telephone.Evening,Telephone.Mobile,Address.Town,Address.County";
    shop.status(await shop.call("GET", `brands?sort=${fields}&limit=1`), 200);
    for (const sort of [`${fields},Address.Country`, "Other", "name", "Name desc"])
      shop.problem(await shop.call("GET", `brands?sort=${encodeURIComponent(sort)}`), 400);
  }),
  both("`?filter[Name]=Acme`", "a filter matches exactly", async (shop) => {
    await createNamed(shop, ["x", "X", "xx"]);
    const answer = await shop.call("GET", `orderstatuses?filter[Name]=${shop.mark}x`);
    shop.same(
      answer,
      "names",
      shop.list(answer).map(({ Name }) => Name),
      [`${shop.mark}x`],
    );
    const encoded = await shop.call("GET", `orderstatuses?filter%5BName%5D=${shop.mark}X`);
    shop.same(
      encoded,
      "names",
      shop.list(encoded).map(({ Name }) => Name),
      [`${shop.mark}X`],
    );
  }),
  both(
    "`?filter[Name][contains]=acm`",
    "contains matches part of a value and ignores case, in every script",
    async (shop) => {
      await createNamed(shop, [" ΟΔΟΣ", " Straße", " ÉTOILE", " other"]);
      const found = async (part: string) => {
        const answer = await shop.call("GET", `orderstatuses?filter[Name][contains]=${encodeURIComponent(part)}`);
        const own = shop.list(answer).filter(({ Name }) => (Name as string).startsWith(shop.mark));
        return { answer, found: own.map(({ Name }) => (Name as string).slice(shop.mark.length)) };
      };
      const expected = {
        οδος: " ΟΔΟΣ",
        οδοσ: " ΟΔΟΣ",
        STRASSE: " Straße",
        straß: " Straße",
        étoile: " ÉTOILE",
        THER: " other",
      };
      for (const [part, name] of Object.entries(expected)) {
        const result = await found(part);
        shop.same(result.answer, `names that contain ${part}`, result.found, [name]);
      }
      const none = await found("étoilé");
      shop.same(none.answer, "names", none.found, []);
    },
  ),
  both(
    "`?filter[AccountNumber][in]=",
    "filter[Name][in] takes up to 1000 values, with quotes as in CSV",
    async (shop) => {
      const names = ["a", "A", "b, c", 'd"', '"e"'].map((name) => shop.mark + name);
      await createNamed(shop, ["a", "A", "b, c", 'd"', '"e"']);
      const find = (values: string) => shop.call("GET", `orderstatuses?filter[Name][in]=${encodeURIComponent(values)}`);
      const listed = names.slice(2).map((name) => `"${name.replaceAll('"', '""')}"`);
      const answer = await find(`${names[0]},${listed.join()},${names[3]},${"x,".repeat(994)}x`);
      shop.same(
        answer,
        "names",
        shop.list(answer).map(({ Name }) => Name),
        [names[0], ...names.slice(2)],
      );
      for (const bad of ["", "a,,b", "a, b", '"a', '"a"b', Array(1001).fill("x").join()])
        shop.problem(await find(bad), 400);
    },
  ),
  both("`?filter[ID][in]=3,5,8`", "filter[ID][in] takes up to 1000 IDs", async (shop) => {
    const [first, , third] = await createNamed(shop, ["a", "b", "c"]);
    const answer = await shop.call("GET", `orderstatuses?filter[ID][in]=${third},${first},${2 ** 52}`);
    shop.same(
      answer,
      "IDs",
      shop.list(answer).map(({ ID }) => ID),
      [first, third],
    );
    const ids = (count: number) => Array.from({ length: count }, (_, i) => i + 1).join(",");
    shop.status(await shop.call("GET", `orderstatuses?filter[ID][in]=${ids(1000)}`), 200);
    for (const bad of [ids(1001), "x", "1,,2", ""])
      shop.problem(await shop.call("GET", `orderstatuses?filter[ID][in]=${bad}`), 400);
  }),
  both("`?fields=Name,Address.Town`", "fields selects fields, and the ID is always there", async (shop) => {
    const { id, record } = await shop.create("brands", { Address: { Town: "Leeds", County: "W" } });
    const list = await shop.call("GET", `brands?filter[ID][in]=${id}&fields=Name,Address.Town`);
    shop.same(list, "the record", shop.list(list, "brands"), [
      { ID: id, Name: record.Name, Address: { Town: "Leeds" } },
    ]);
    const onlyId = await shop.call("GET", `brands?filter[ID][in]=${id}&fields=ID`);
    shop.same(onlyId, "the record", shop.list(onlyId, "brands"), [{ ID: id }]);
    shop.problem(await shop.call("GET", "brands?fields=Name,Other"), 400, /Other/);
  }),
  both(filters, "17 filters get a 400", async (shop) => {
    const fields = "Name AccountNumber Telephone.Daytime Telephone.Evening Telephone.Mobile Address.Town".split(" ");
    const all = [...fields, "Address.County", "Address.Postcode", "Address.Country"].flatMap((field) => [
      `filter[${field}]=${shop.mark}`,
      `filter[${field}][contains]=${shop.mark}`,
    ]);
    shop.status(await shop.call("GET", `brands?${all.slice(0, 16).join("&")}`), 200);
    shop.problem(await shop.call("GET", `brands?${all.slice(0, 17).join("&")}`), 400);
  }),
  both(filters, "a repeated filter gets a 400", async (shop) => {
    for (const filter of ["filter[Name]", "filter[Name][contains]", "filter[ID]", "filter[ID][in]"])
      shop.problem(await shop.call("GET", `orderstatuses?${filter}=1&${filter}=2`), 400, /more than once/);
    shop.status(await shop.call("GET", "orderstatuses?filter[Name]=1&filter[Name][contains]=1"), 200);
  }),
  both(links, "a list with limit has links to the first, prev, next and last page", async (shop) => {
    await createNamed(shop, ["a", "b", "c", "d", "e"]);
    const seen: unknown[] = [];
    let path = `orderstatuses?filter[Name][contains]=${shop.mark}&limit=2`;
    const relations: string[] = [];
    for (let pages = 0; pages < 4 && path; pages++) {
      const answer = await shop.call("GET", path);
      shop.header(answer, "X-Total-Count", "5");
      seen.push(...shop.list(answer).map(({ Name }) => (Name as string).slice(shop.mark.length)));
      const links = new Map(
        [...(answer.headers.get("Link") ?? "").matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, url = "", rel = ""]) => [
          rel,
          url,
        ]),
      );
      relations.push([...links.keys()].sort().join(" "));
      path = links.get("next") ?? "";
    }
    const answer = await get(shop, "");
    shop.same(answer, "the names of the pages", seen, ["a", "b", "c", "d", "e"]);
    shop.same(answer, "the relations of the pages", relations, [
      "first last next",
      "first last next prev",
      "first last prev",
    ]);
    shop.header(answer, "Link", null);
  }),
  both(links, "there's no Link header if it would exceed 4 KiB", async (shop) => {
    await createNamed(shop, ["a", "b"]);
    const link = async (length: number) => {
      const answer = await get(shop, `&limit=1&_=${"x".repeat(length)}`);
      shop.status(answer, 200);
      return { answer, text: answer.headers.get("Link") };
    };
    const short = await link(1);
    const urls = short.text?.match(/_=/g)?.length ?? shop.fail(short.answer, "a Link whose URLs have all parameters");
    const longest = 1 + Math.floor((4096 - (short.text?.length ?? 0)) / urls);
    shop.header((await link(longest)).answer, "Link", /rel="next"/);
    shop.header((await link(longest + 1)).answer, "Link", null);
  }),
  both("A bad value or unknown field", "a bad value or an unknown field gets a 400", async (shop) => {
    for (const query of [
      "filter[Other]=x",
      "filter[name]=x",
      "filter[Name][like]=x",
      "sort=Other",
      "fields=Other",
      "filter[ID]=x",
    ])
      shop.problem(await shop.call("GET", `brands?${query}`), 400);
  }),
  both("Without parameters", "without parameters, the body is the whole list", async (shop) => {
    await shop.create();
    const list = await shop.call("GET", "orderstatuses");
    shop.header(list, "X-Total-Count", String(shop.list(list).length));
  }),
  both(others, "an unknown parameter gets a 400 on lists and look-ups", async (shop) => {
    const { id } = await shop.create("brands");
    const fields = ["Name=x", "Address.Town=x", "name=x", "id=1"];
    const forms = ["Limit=1", "filter.Name=x", "filter[Name=x", "SORT=Name", "Offset=1", "Fields=Name"];
    const ofOthers = `page per_page order orderby q search ids first last from dir after before starting_after page_info since_id currentPage
      searchCriteria[pageSize] paged p marker continuationToken q[name_eq] id:min updated_at[gte] include amp;offset _method x`;
    const ofFeed = "since updated_since modified_since updated_at_min wait resource collapse";
    const names = `${ofOthers} ${ofFeed}`.split(/\s+/).map((name) => `${name}=1`);
    for (const parameter of [...fields, ...forms, ...names]) {
      shop.problem(await shop.call("GET", `brands?${parameter}`), 400);
      shop.problem(await shop.call("GET", `brands/${id}?${parameter}`), 400);
    }
  }),
  both(others, "an unknown parameter gets a 400 on writes, and nothing changes", async (shop) => {
    const { id, record } = await shop.create();
    const body = { Name: shop.mark };
    for (const query of ["dryrun=1", "dry_run=1", "DryRun=1", "match=Name", "_method=PUT", "filter[Name]=x", "x=1"]) {
      shop.problem(await shop.call("POST", `orderstatuses?${query}`, { body }), 400);
      shop.problem(await shop.call("PUT", `orderstatuses/${id}?${query}`, { body }), 400);
      shop.problem(await shop.call("DELETE", `orderstatuses/${id}?${query}`), 400);
    }
    shop.status(await shop.call("OPTIONS", "orderstatuses?x=1"), 204);
    const answer = await get(shop, "");
    shop.same(answer, "the records", shop.list(answer), [record]);
  }),
  both("Look-ups don't take any parameters", "a list parameter gets a 400 on look-ups", async (shop) => {
    const { id } = await shop.create();
    for (const query of ["limit=1", "fields=Name", "sort=Name", "filter[Name]=x", `ID=${id}`])
      shop.problem(await shop.call("GET", `orderstatuses/${id}?${query}`), 400);
    for (const query of [`ID=${id}`, "limit=1"])
      shop.problem(await shop.call("POST", `orderstatuses?${query}`, { body: { Name: shop.mark } }), 400);
    for (const query of ["dryRun=1", "ID=1", "offset=1"]) shop.problem(await shop.call("GET", `changes?${query}`), 400);
  }),
  both(
    "These are ignored: `_`",
    "cache busters and tracking parameters are ignored on reads and writes",
    async (shop) => {
      const { id, record } = await shop.create();
      const ignored = "_=123&v=1&t=1&ts=1&cb=1&nocache&cachebuster=1&rand=0.5&utm_source=x&utm_term=y";
      const answer = await shop.call("GET", `orderstatuses/${id}?${ignored}`);
      shop.same(answer, "the record", shop.record(answer), record);
      shop.status(await shop.call("GET", `orderstatuses?${ignored}`), 200);
      shop.status(await shop.call("GET", `changes?since=now&${ignored}`), 200);
      shop.status(await shop.call("PUT", `orderstatuses/${id}?${ignored}`, { body: { Name: shop.mark } }), 200);
      shop.problem(await shop.call("DELETE", `orderstatuses/${id}?${ignored}&dryrun=1`), 400);
      shop.status(await shop.call("DELETE", `orderstatuses/${id}?${ignored}`), 200);
    },
  ),
  both("The query has to be UTF-8", "invalid UTF-8 gets a 400, in names and in values", async (shop) => {
    for (const bad of ["Caf%E9", "%u00E9", "100%", "%ED%A0%BD%ED%B8%80", "%C0%AF", "%zz"]) {
      for (const query of [`filter[Name]=${bad}`, `filter[${bad}]=x`, `${bad}=1`, `_=${bad}`])
        shop.problem(await shop.call("GET", `orderstatuses?${query}`), 400, /UTF-8/);
      shop.problem(await shop.call("DELETE", `orderstatuses?ID=1&_=${bad}`), 400);
    }
    const [id] = await createNamed(shop, [" Café"]);
    const encoded = await get(shop, "+Caf%C3%A9");
    shop.same(
      encoded,
      "IDs",
      shop.list(encoded).map(({ ID }) => ID),
      [id],
    );
  }),
];

/** Creates order statuses in this order, and returns their IDs. */
async function createNamed(shop: Shop, endings: readonly string[]): Promise<number[]> {
  const ids: number[] = [];
  for (const ending of endings) ids.push((await shop.create("orderstatuses", { Name: `${shop.mark}${ending}` })).id);
  return ids;
}

function get(shop: Shop, parameters: string) {
  return shop.call("GET", `orderstatuses?filter[Name][contains]=${shop.mark}${parameters}`);
}

async function names(shop: Shop, parameters: string): Promise<unknown[]> {
  const records: ShopRecord[] = shop.list(await get(shop, parameters));
  return records.map(({ Name }) => (Name as string).slice(shop.mark.length));
}
