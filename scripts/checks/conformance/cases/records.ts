// Contract section 4: records.

import { casesOf } from "../case.ts";
import { completeRecord, type Format, type ShopRecord } from "../records.ts";

const { both, once } = casesOf(4);
const deletes = "A delete's body";
const size = "A body can be up to 1 MiB";
const characters = "Characters that XML 1.0";

/** Strings that a server might mangle. XML 1.0 can represent them all. */
const texts = [
  " spaces  around ",
  "e\u0301 is not \u00e9",
  "ΣΊΣΥΦΟΣ straße İıI",
  "a\tb\nc\rd\r\ne",
  "<&>\"'`{}[]\\/ ]]>",
  "\u{1F600}\u200d\u202e\ufeff",
  "null",
];

export const recordCases = [
  both(
    "Field names are case-sensitive.",
    "an unknown field gets a 400 that suggests the field you probably meant",
    async (shop) => {
      const create = (fields: ShopRecord) => shop.call("POST", "brands", { body: { Name: shop.mark, ...fields } });
      shop.problem(await create({ Town: "Leeds" }), 400, meant("Town", "Address"));
      shop.problem(await create({ Adress: { Town: "Leeds" } }), 400, /\bAdress\b.*Address/s);
      shop.problem(await create({ Address: { town: "Leeds" } }), 400, meant("Town"));
      shop.problem(await shop.call("POST", "brands", { body: { name: shop.mark } }), 400, /\bname\b.*\bName\b/s);
    },
  ),
  both("`ID` in the body of a create", "an ID in the body of a create gets a 400", async (shop) => {
    for (const ID of [1, 2 ** 52])
      shop.problem(await shop.call("POST", "orderstatuses", { body: { ID, Name: shop.mark } }), 400, /\bID\b/);
  }),
  both(deletes, "a delete accepts an empty body", async (shop) => {
    for (const body of [" \n", "{}", "[]", "null", '""']) {
      const { id } = await shop.create();
      shop.status(await shop.call("DELETE", `orderstatuses/${id}`, { body }), 200);
      shop.problem(await shop.call("DELETE", "orderstatuses", { body }), 400, /ambiguous-id/);
    }
  }),
  once(deletes, "an empty array for an object gets a 400 that says what to send", async (shop) => {
    const { id } = await shop.create("brands");
    const empty = "empty array; send `\\{\\}`";
    for (const body of ["[]", '{"Telephone":[]}', '{"Name":"x","Address":[]}'])
      shop.problem(await shop.call("PUT", `brands/${id}`, { body }), 400, new RegExp(empty));
    shop.status(await shop.call("PUT", `brands/${id}`, { body: '{"Telephone":{}}' }), 200);
  }),
  once("All fields but ID are strings.", "any other type gets a 400 that names the field", async (shop) => {
    for (const value of [1, true, null, [], {}])
      shop.problem(
        await shop.call("POST", "brands", { body: { Name: shop.mark, AccountNumber: value } }),
        400,
        /AccountNumber/,
      );
    for (const value of ["x", 1, null, []])
      shop.problem(
        await shop.call("POST", "brands", { body: { Name: shop.mark, Telephone: value } }),
        400,
        /Telephone/,
      );
    const body = { Name: shop.mark, Address: { Town: 1 } };
    shop.problem(await shop.call("POST", "brands", { body }), 400, /Address\.Town/);
  }),
  both(
    "Strings are stored and returned exactly",
    "strings are stored and returned exactly, in both formats",
    async (shop) => {
      const other: Format = shop.format === "json" ? "xml" : "json";
      for (const text of texts) {
        const Name = `${shop.mark}${text}`;
        const { answer, id, record } = await shop.create("brands", { Name, Address: { AddressLine1: text } });
        const expected = completeRecord("brands", { ID: id, Name, Address: { AddressLine1: text } });
        shop.same(answer, "the record", record, expected);
        const read = await shop.call("GET", `brands/${id}`, { format: other });
        shop.same(read, "the record", shop.record(read, "brands", other), expected);
      }
    },
  ),
  once(characters, "a forbidden character gets a 400 in JSON", async (shop) => {
    for (const sequence of ["\\u0000", "\\u0001", "\\u000b", "\\u001f", "\\ufffe", "\\uffff", "\\ud800", "\\udc00x"])
      shop.problem(await shop.call("POST", "orderstatuses", { body: `{"Name":"${shop.mark}${sequence}"}` }), 400);
    shop.status(await shop.call("POST", "orderstatuses", { body: `{"Name":"${shop.mark}\\ud83d\\ude00"}` }), 201);
  }),
  once(characters, "a forbidden character gets a 400 in XML", async (shop) => {
    for (const reference of ["&#0;", "&#1;", "&#xb;", "&#x1f;", "&#xfffe;", "&#xffff;", "&#xd800;"]) {
      const body = `<OrderStatus><Name>${shop.mark}${reference}</Name></OrderStatus>`;
      shop.problem(await shop.call("POST", "orderstatuses", { body, format: "xml" }), 400);
    }
  }),
  both("A create needs a `Name`", "Name is required, and can't be empty", async (shop) => {
    shop.problem(await shop.call("POST", "brands", { body: { AccountNumber: "1" } }), 400, /\bName\b/);
    for (const path of ["brands", "orderstatuses"])
      shop.problem(await shop.call("POST", path, { body: { Name: "" } }), 400, /\bName\b/);
  }),
  both("Responses have exactly", "responses have exactly the declared fields, in order", async (shop) => {
    const body = { Address: { Town: "Leeds", Title: "Dr" }, Telephone: { Mobile: "1" }, Name: shop.mark };
    const answer = await shop.call("POST", "brands", { body });
    shop.status(answer, 201);
    const record = shop.record(answer, "brands");
    shop.same(answer, "the record", record, completeRecord("brands", { ...body, ID: record.ID }));
    const own = await shop.own("brands");
    const listed = own.find(({ ID }) => ID === record.ID);
    shop.holds(answer, "the same record in the list", JSON.stringify(listed) === JSON.stringify(record));
  }),
  both(
    "An update keeps the fields",
    "an update keeps fields you don't send, and an empty string clears one",
    async (shop) => {
      const all = {
        AccountNumber: "1",
        Telephone: { Daytime: "2", Mobile: "3" },
        Address: { Town: "Leeds", County: "W" },
      };
      const { id, record } = await shop.create("brands", all);
      const update = { AccountNumber: "", Telephone: { Daytime: "4" }, Address: { County: "" } };
      const answer = await shop.call("PUT", `brands/${id}`, { body: update });
      shop.status(answer, 200);
      const merged = {
        ...all,
        ...update,
        Telephone: { Daytime: "4", Mobile: "3" },
        Address: { Town: "Leeds", County: "" },
      };
      const expected = completeRecord("brands", { ...merged, ID: id, Name: record.Name });
      shop.same(answer, "the record", shop.record(answer, "brands"), expected);
      shop.problem(await shop.call("PUT", `brands/${id}`, { body: { Name: "" } }), 400, /\bName\b/);
    },
  ),
  both(
    "An update keeps the fields",
    "an update without effect gets a 200, and adds no change to the feed",
    async (shop) => {
      const { id, record, etag } = await shop.create();
      const answer = await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: record.Name } });
      shop.status(answer, 200);
      shop.header(answer, "ETag", etag);
    },
  ),
  both("Names don't have to be unique.", "two records can have the same name", async (shop) => {
    const [one, other] = [await shop.create(), await shop.create()];
    shop.holds(other.answer, "two IDs for two records of the same name", one.id !== other.id);
  }),
  both(
    "Fields have a maximum length",
    "a field of the maximum length is accepted, and one code point more gets a 400",
    async (shop) => {
      const accepted: Record<string, string | ShopRecord> = {};
      for (const [field, most] of limits) {
        const fill = field === "Name" ? shop.mark : "";
        const text = (length: number) => fill + "\u{1F600}".repeat(length - fill.length);
        const body = { Name: shop.mark, ...nested(field, text(most + 1)) };
        shop.problem(await shop.call("POST", "brands", { body }), 400, new RegExp(field.replace(".", "\\.")));
        merge(accepted, nested(field, text(most)));
      }
      const { record, answer } = await shop.create("brands", accepted);
      shop.same(answer, "the record", record, completeRecord("brands", { ...accepted, ID: record.ID }));
    },
  ),
  both("`Country` is empty", "Country is empty or 2 to 3 ASCII letters, and kept as sent", async (shop) => {
    const create = (Country: string) =>
      shop.call("POST", "brands", { body: { Name: shop.mark, Address: { Country } } });
    for (const country of ["", "GB", "gB", "GBR"]) {
      const answer = await create(country);
      shop.status(answer, 201);
      shop.same(answer, "Country", (shop.record(answer, "brands").Address as ShopRecord).Country, country);
    }
    for (const country of ["G", "GBRR", "G1", "éé", " GB"])
      shop.problem(await create(country), 400, /Address\.Country/);
  }),
  both(size, "more than 1 MiB gets a 413", async (shop) => {
    const padding = " ".repeat(2 ** 20);
    const body = shop.format === "json" ? `{"Name":"${shop.mark}"${padding}}` : `<OrderStatus>${padding}</OrderStatus>`;
    shop.problem(await shop.call("POST", "orderstatuses", { body }), 413, /too-large/);
  }),
  both(size, "nesting deeper than a record's gets a 400", async (shop) => {
    const deep = { Address: { Town: { Town: { Town: "Leeds" } } } };
    shop.problem(await shop.call("POST", "brands", { body: { Name: shop.mark, ...deep } }), 400);
    const depth = 50_000;
    const [open, close] = shop.format === "json" ? ['{"A":', "}"] : ["<A>", "</A>"];
    const body = `${open.repeat(depth)}${shop.format === "json" ? "1" : ""}${close.repeat(depth)}`;
    shop.problem(await shop.call("POST", "brands", { body }), 400);
  }),
  both(size, "at most 100 errors are listed", async (shop) => {
    const fields = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`Unknown${i}`, "x"]));
    const answer = await shop.call("POST", "brands", { body: { Name: shop.mark, ...fields } });
    shop.problem(answer, 400);
    const listed = answer.text.match(/"field"|<field>/g)?.length ?? 0;
    shop.holds(answer, `1 to 100 errors, not ${listed}`, listed >= 1 && listed <= 100);
  }),
];

/** Matches a problem that suggests a field, in either format. */
function meant(field: string, inside = ""): RegExp {
  return new RegExp(
    `did you mean [^?]*(${inside}\\.${field}\\b|&lt;${field}&gt; in &lt;${inside}&gt;|\\b${field}\\b)[^?]*\\?`,
  );
}

const limits: readonly (readonly [field: string, length: number])[] = [
  ["Name", 255],
  ["AccountNumber", 64],
  ["Telephone.Daytime", 64],
  ["Telephone.Evening", 64],
  ["Telephone.Mobile", 64],
  ["Address.Title", 32],
  ["Address.Firstname", 128],
  ["Address.Surname", 128],
  ["Address.AddressLine1", 255],
  ["Address.AddressLine2", 255],
  ["Address.Town", 128],
  ["Address.County", 128],
  ["Address.Postcode", 32],
];

function nested(field: string, text: string): Record<string, string | ShopRecord> {
  const [name = "", inner] = field.split(".");
  return { [name]: inner ? { [inner]: text } : text };
}

function merge(all: Record<string, string | ShopRecord>, added: Record<string, string | ShopRecord>): void {
  for (const [name, value] of Object.entries(added)) {
    const before = all[name];
    all[name] = typeof value === "object" && typeof before === "object" ? { ...before, ...value } : value;
  }
}
