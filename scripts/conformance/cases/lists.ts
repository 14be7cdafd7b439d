// Contract section 6: reading less.

import { casesOf } from "../case.ts";
import type { ShopRecord } from "../records.ts";
import type { Shop } from "../shop.ts";

const { both } = casesOf(6);
const most = "A request has at most 16 filters.";
const mistakes = "A bad value or an unknown field is 400.";

export const listCases = [
  both("`?limit=`, `?offset=`", "return a part of the list, with limits of 1 to 1000", async (shop) => {
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
  both("`?sort=Name` or `-Name`", "sorts up and down, by several fields, ties in ID order", async (shop) => {
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
  both("`?filter[Name]=Acme`", "is exact", async (shop) => {
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
    "a part of the value, without regard to case, in every script",
    async (shop) => {
      await createNamed(shop, [" ΟΔΟΣ", " Straße", " ÉTOILE", " other"]);
      const found = async (part: string) => {
        const answer = await get(shop, `&filter[Name][contains]=${encodeURIComponent(part)}`);
        return { answer, found: shop.list(answer).map(({ Name }) => (Name as string).slice(shop.mark.length)) };
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
  both("`?filter[ID][in]=3,5,8`", "at most 1000 IDs", async (shop) => {
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
  both("`?fields=Name,Address.Town`", "only these fields, and always the ID", async (shop) => {
    const { id, record } = await shop.create("brands", { Address: { Town: "Leeds", County: "W" } });
    const list = await shop.call("GET", `brands?filter[ID][in]=${id}&fields=Name,Address.Town`);
    shop.same(list, "the record", shop.list(list, "brands"), [
      { ID: id, Name: record.Name, Address: { Town: "Leeds" } },
    ]);
    const onlyId = await shop.call("GET", `brands?filter[ID][in]=${id}&fields=ID`);
    shop.same(onlyId, "the record", shop.list(onlyId, "brands"), [{ ID: id }]);
    shop.problem(await shop.call("GET", "brands?fields=Name,Other"), 400, /Other/);
  }),
  both(most, "17 filters are 400", async (shop) => {
    const filters = (count: number) => Array.from({ length: count }, () => `filter[Name]=${shop.mark}`).join("&");
    shop.status(await shop.call("GET", `brands?${filters(16)}`), 200);
    shop.problem(await shop.call("GET", `brands?${filters(17)}`), 400);
  }),
  both(most, "a list with limit has Link: first, prev, next, last", async (shop) => {
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
  both(most, "Link is left out if it would be longer than 4 KiB", async (shop) => {
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
  both(mistakes, "a bad value or an unknown field is 400", async (shop) => {
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
  both("the name of a field |", "as a parameter is 400", (shop) =>
    rejectAll(shop, ["Name=x", "Address.Town=x", "name=x", "ID=1"]),
  ),
  both("a parameter of this section in another case or form", "is 400", (shop) =>
    rejectAll(shop, ["Limit=1", "filter.Name=x", "filter[Name=x", "SORT=Name", "Offset=1", "Fields=Name"]),
  ),
  both("a parameter of other interfaces", "is 400", (shop) =>
    rejectAll(
      shop,
      "page per_page order orderby q search ids first last from dir after before starting_after page_info"
        .split(" ")
        .map((name) => `${name}=1`),
    ),
  ),
  both("a parameter of the feed", "is 400", (shop) =>
    rejectAll(
      shop,
      "since updated_since modified_since updated_at_min wait resource collapse".split(" ").map((name) => `${name}=1`),
    ),
  ),
  both("Any other parameter is ignored", "and without parameters the body is the whole list", async (shop) => {
    const { id, record } = await shop.create();
    const answer = await shop.call("GET", `orderstatuses/${id}?_=123&utm_source=x&t=1`);
    shop.same(answer, "the record", shop.record(answer), record);
    const list = await shop.call("GET", "orderstatuses?_=123");
    shop.header(list, "X-Total-Count", String(shop.list(list).length));
  }),
];

/** Creates order statuses, one after the other, and returns their IDs. */
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

/** Checks that each parameter is 400 on a list and on a look-up. */
async function rejectAll(shop: Shop, parameters: readonly string[]): Promise<void> {
  const { id } = await shop.create("brands");
  for (const parameter of parameters) {
    shop.problem(await shop.call("GET", `brands?${parameter}`), 400);
    // A look-up may name its record again.
    if (parameter !== "ID=1") shop.problem(await shop.call("GET", `brands/${id}?${parameter}`), 400);
  }
}
