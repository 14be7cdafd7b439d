// Contract section 5: XML.

import { casesOf } from "../case.ts";
import type { Shop } from "../shop.ts";
import { declaration, readXml } from "../xml.ts";

const { once } = casesOf(5);
const list = "A list is `<Results>`";
const declared = "Documents start with";
const strict = "A DOCTYPE gets a 400";
const instance = "http://www.w3.org/2001/XMLSchema-instance";

export const xmlCases = [
  once(list, "a list is a Results element, and records have their ID as an attribute", async (shop) => {
    const brand = await shop.create("brands", { Telephone: { Mobile: "1" } }, { format: "xml" });
    const status = await shop.create("orderstatuses", {}, { format: "xml" });
    const answer = await shop.call("GET", `brands?filter[ID][in]=${brand.id}`, { format: "xml" });
    const root = readXml(answer.text);
    shop.same(answer, "the elements", [root.name, ...root.children.map(({ name }) => name)], ["Results", "Brand"]);
    const children = root.children[0]?.children.map(({ name }) => name);
    shop.same(answer, "the fields", children, ["Name", "AccountNumber", "Telephone", "Address"]);
    const telephone = root.children[0]?.children[2]?.children.map(({ name, text }) => [name, text]);
    shop.same(answer, "Telephone", telephone, [
      ["Daytime", ""],
      ["Evening", ""],
      ["Mobile", "1"],
    ]);
    const single = await shop.call("GET", `orderstatuses/${status.id}`, { format: "xml" });
    const { name, attributes } = readXml(single.text);
    shop.same(single, "the root", [name, attributes], ["OrderStatus", { ID: String(status.id) }]);
  }),
  once(list, "an ID in the body can be an attribute or a child element, and both must agree", async (shop) => {
    const { id } = await shop.create();
    const update = (inner: string, attribute = "") =>
      shop.call("PUT", "orderstatuses", {
        format: "xml",
        body: `<OrderStatus${attribute}>${inner}<Name>${shop.mark}</Name></OrderStatus>`,
      });
    shop.status(await update("", ` ID="${id}"`), 200);
    shop.status(await update(`<ID>${id}</ID>`), 200);
    shop.status(await update(`<ID>${id}</ID>`, ` ID="${id}"`), 200);
    shop.problem(await update(`<ID>${id + 1}</ID>`, ` ID="${id}"`), 400);
    shop.problem(await update("", ` id="${id}"`), 400);
  }),
  once(declared, "every response starts with the declaration, including errors", async (shop) => {
    for (const path of ["orderstatuses?limit=1", "orderstatuses/0", "changes?since=now", "nothing"]) {
      const answer = await shop.call("GET", path, { format: "xml" });
      shop.holds(answer, `a body that starts with ${declaration}`, answer.text.startsWith(declaration));
      readXml(answer.text);
    }
  }),
  once(declared, "a declaration of another encoding gets a 415", async (shop) => {
    const body = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?>${status(shop)}`;
    shop.problem(await post(shop, body("iso-8859-1")), 415);
    for (const encoding of ["UTF-8", "utf-8", "utf8", "US-ASCII", "ascii"])
      shop.status(await post(shop, body(encoding)), 201);
  }),
  once(strict, "a DOCTYPE gets a 400", async (shop) => {
    const doctype = '<!DOCTYPE OrderStatus [<!ENTITY e SYSTEM "file:///etc/hostname">]>';
    shop.problem(await post(shop, `${doctype}${status(shop, "&e;")}`), 400);
    shop.problem(await post(shop, `${declaration}<!DOCTYPE OrderStatus>${status(shop)}`), 400);
  }),
  once(strict, "repeated or unknown markup, or text outside fields, gets a 400", async (shop) => {
    const name = `<Name>${shop.mark}</Name>`;
    const bodies = [
      `<OrderStatus>${name}${name}</OrderStatus>`,
      `<OrderStatus>${name}<Other/></OrderStatus>`,
      `<OrderStatus other="1">${name}</OrderStatus>`,
      `<OrderStatus><Name other="1">${shop.mark}</Name></OrderStatus>`,
      `<OrderStatus>text${name}</OrderStatus>`,
      `<Brand>${name}</Brand>`,
      `<OrderStatus>${name}</OrderStatus><OrderStatus/>`,
      `<OrderStatus>${name}`,
      "",
    ];
    for (const body of bodies) shop.problem(await post(shop, body), 400);
  }),
  once(strict, "comments and processing instructions are skipped", async (shop) => {
    const body = `<!-- a --><OrderStatus><?b c?><Name>${shop.mark}<!-- d --> x</Name></OrderStatus><!-- e -->`;
    const answer = await post(shop, body);
    shop.status(answer, 201);
    shop.same(answer, "Name", shop.record(answer, "orderstatuses", "xml").Name, `${shop.mark} x`);
  }),
  once(
    "Attributes that serializers add",
    "serializers' attributes are ignored on every element, with any prefix",
    async (shop) => {
      const attributes = (prefix: string) =>
        `xmlns:${prefix}="${instance}" ${prefix}:noNamespaceSchemaLocation="a.xsd" ${prefix}:schemaLocation="a b" ${prefix}:nil="false" xml:lang="en" xmlns=""`;
      for (const prefix of ["xsi", "i"]) {
        const sent = attributes(prefix);
        const body = `<OrderStatus ${sent}><Name ${sent}>${shop.mark}</Name></OrderStatus>`;
        shop.status(await post(shop, body), 201);
        const operation = `<Operation ${sent} Method="POST" Resource="orderstatuses">${body}</Operation>`;
        const batch = { body: `<Batch ${sent}>${operation}</Batch>`, format: "xml" } as const;
        shop.status(await shop.call("POST", "batch?dryRun=1", batch), 200);
      }
      const unknown = `<OrderStatus xmlns:xsi="${instance}" xsi:other="">${name(shop)}</OrderStatus>`;
      shop.problem(await post(shop, unknown), 400);
    },
  ),
  once('`xsi:nil="true"` gets a 400', '`xsi:nil="true"` gets a 400 that says what to do', async (shop) => {
    const body = `<Brand xmlns:xsi="${instance}">${name(shop)}<AccountNumber xsi:nil="true"/></Brand>`;
    shop.problem(await shop.call("POST", "brands", { body, format: "xml" }), 400, /leave out the element/);
  }),
  once("A CR in text", "a CR is written so that parsers preserve it", async (shop) => {
    const { id } = await shop.create("orderstatuses", { Name: `${shop.mark}\r\n` });
    const answer = await shop.call("GET", `orderstatuses/${id}`, { format: "xml" });
    shop.holds(answer, "&#13; in the body", answer.text.includes(`${shop.mark}&#13;`));
  }),
];

function status(shop: Shop, text = ""): string {
  return `<OrderStatus>${name(shop, text)}</OrderStatus>`;
}

function name(shop: Shop, text = ""): string {
  return `<Name>${shop.mark}${text}</Name>`;
}

function post(shop: Shop, body: string) {
  return shop.call("POST", "orderstatuses", { body, format: "xml" });
}
