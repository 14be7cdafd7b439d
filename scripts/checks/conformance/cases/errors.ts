// Contract section 8: errors.

import { casesOf } from "../case.ts";

const { both, once } = casesOf(8);
const document = "Errors are problem documents";

export const errorCases = [
  both(document, "every error is a problem document, with the request ID as its instance", async (shop) => {
    const answers = [
      await shop.call("GET", "nothing"),
      await shop.call("GET", `orderstatuses/${2 ** 52}`),
      await shop.call("GET", "orderstatuses", { key: null }),
      await shop.call("PUT", "locations"),
      await shop.call("POST", "orderstatuses", { body: { Name: "" } }),
      await shop.call("GET", "orderstatuses?limit=0"),
    ];
    for (const answer of answers) {
      shop.header(answer, "Content-Type", new RegExp(`^application/problem\\+${shop.format}(; charset=utf-8)?$`));
      const { type, instance, detail } = shop.problem(answer, answer.status);
      shop.holds(answer, "a type, a title, and a detail", type !== "" && detail !== "" && /title/.test(answer.text));
      shop.holds(
        answer,
        `the status ${answer.status} in the problem`,
        new RegExp(`status(":\\s*|>)${answer.status}\\b`).test(answer.text),
      );
      shop.header(answer, "X-Request-Id", instance);
    }
  }),
  both(document, "type leads to a page on the server", async (shop) => {
    const { type } = shop.problem(await shop.call("GET", "nothing"), 404);
    const path = type.startsWith("/") ? type : new URL(type).pathname;
    const page = await shop.call("GET", path, { key: null });
    shop.status(page, 200);
    shop.header(page, "Content-Type", /^text\/html/);
  }),
  both("If a record is rejected", "all errors in a record are reported at once, each with its field", async (shop) => {
    const body = { name: "x", Address: { Country: "Britain", Postcode: "x".repeat(33) } };
    const answer = await shop.call("POST", "brands", { body });
    shop.status(answer, 400);
    const fields = [...answer.text.matchAll(/"field":\s*"([^"]*)"|<field>([^<]*)<\/field>/g)].map(
      ([, json, xml]) => json ?? xml,
    );
    shop.same(answer, "the fields of the errors", fields.sort(), [
      "Address.Country",
      "Address.Postcode",
      "Name",
      "name",
    ]);
  }),
  both("If a body can't be parsed", "a syntax error has its line and column", async (shop) => {
    const body = shop.format === "json" ? '{\n  "Name": "x",}' : "<OrderStatus>\n  <Name>x</Nam></OrderStatus>";
    const answer = await shop.call("POST", "orderstatuses", { body });
    shop.problem(answer, 400, /"line":\s*2\b|<line>2</);
    shop.problem(answer, 400, /"column":\s*\d+|<column>\d+</);
    const latin1 =
      shop.format === "json" ? '{\n "Name": "caf\xe9"}' : "<OrderStatus>\n<Name>caf\xe9</Name></OrderStatus>";
    const invalid = await shop.call("POST", "orderstatuses", { body: Uint8Array.from(Buffer.from(latin1, "latin1")) });
    shop.problem(invalid, 400, /"line":\s*2\b|<line>2</);
    shop.problem(invalid, 400, shop.format === "json" ? /"column":\s*14\b/ : /<column>10</);
  }),
  both("Keys are shortened", "an API key in a message is shortened", async (shop) => {
    const answer = await shop.call("GET", `orderstatuses?limit=${shop.target.key}`);
    const { detail } = shop.problem(answer, 400, /limit/);
    shop.holds(answer, "a problem without the key", !answer.text.includes(shop.target.key) && detail.includes("sfk_"));
  }),
  once("A browser", "a browser gets an HTML page for an unknown path outside /restapi", async (shop) => {
    const headers = { Accept: "text/html,application/xhtml+xml" };
    const answer = await shop.call("GET", "/nothing", { key: null, headers });
    shop.status(answer, 404);
    shop.header(answer, "Content-Type", /^text\/html/);
    const inside = await shop.call("GET", "/restapi/nothing.json", { key: null, headers });
    shop.header(inside, "Content-Type", /^application\/problem\+json/);
  }),
];
