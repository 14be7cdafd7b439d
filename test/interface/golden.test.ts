// The exact bytes of each resource in each format, which every client depends on. Run with UPDATE_GOLDEN=1 to rewrite the files.

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { parseNewRecord, type Values } from "../../src/model/record.ts";
import { publicResources, type Resource } from "../../src/model/resource.ts";
import { allResources } from "../../src/resources/all.ts";
import { brand } from "../../src/resources/brand.ts";
import { location } from "../../src/resources/location.ts";
import { orderStatus } from "../../src/resources/order-status.ts";
import { createIntent } from "../support/engine/intents.ts";
import { startTestServer } from "../support/http/server.ts";

const contact = {
  Telephone: { Daytime: "01632 960001", Evening: "", Mobile: "07700 900001" },
  Address: {
    Title: "Ms",
    Firstname: "Ada",
    Surname: "O'Neill",
    AddressLine1: "1 <High> Street",
    Town: "Zoë\r\ntown",
    Country: "GB",
  },
};
const samples: [Resource, readonly Values[]][] = [
  [brand, [{ Name: "Acme & Söhne", AccountNumber: '"ACC"', ...contact }, { Name: "山田 👨‍👩‍👧" }]],
  [orderStatus, [{ Name: "Paid" }, { Name: "  On its way\t" }]],
  [location, [{ Code: "N1", Name: "North", Manager: "Ada", Email: "north@shop.example", ...contact }]],
];

test("every resource clients can see has samples", () => {
  expect(samples.map(([{ name }]) => name).sort()).toEqual(
    publicResources(allResources)
      .map(({ name }) => name)
      .sort(),
  );
});

const server = await startTestServer();
const intents = samples.flatMap(([resource, records]) =>
  records.map((values) =>
    createIntent({ site: server.site.ID, resource: resource.name, values: parseNewRecord(resource, values) }),
  ),
);
await server.engine.commit(intents);
const deleted = createIntent({ site: server.site.ID, operation: "delete", id: 3, values: {}, at: 2 });
await server.engine.commit([createIntent({ site: server.site.ID }), deleted]);
afterAll(() => server.stop());

const paths = samples.flatMap(([{ path }]) =>
  ["json", "xml"].flatMap((format) => [`${path}.${format}`, `${path}/1.${format}`]),
);

test.each(paths)("%s has not changed", async (path) => {
  const response = await server.call("GET", `/restapi/${path}`);
  const file = join(import.meta.dir, "..", "golden", path.replace("/", "-"));
  if (process.env.UPDATE_GOLDEN) await Bun.write(file, response.text);
  expect(response.text).toBe(await Bun.file(file).text());
});

test.each(["json", "xml"])("the feed in %s has not changed", async (format) => {
  const { text } = await server.call("GET", `/restapi/changes.${format}`);
  // The digests in cursors and the versions in entity tags depend on the random epoch.
  const same = text
    .replace(/\b[0-9a-f]{12}\.(?=[0-9])/g, "0123456789ab.")
    .replace(/\b[0-9A-Za-z]+(?=\.[0-9]+\.[0-9a-f]{8}-(?:json|xml)\b)/g, "epoch");
  const file = join(import.meta.dir, "..", "golden", `changes.${format}`);
  if (process.env.UPDATE_GOLDEN) await Bun.write(file, same);
  expect(same).toBe(await Bun.file(file).text());
});

const operations: Readonly<Record<string, string>> = {
  json: JSON.stringify({
    Operations: [
      { Method: "POST", Resource: "orderstatuses", Record: { Name: "Sent & paid" } },
      { Method: "PUT", Resource: "brands", ID: 1, Record: { AccountNumber: "<1>" } },
      { Method: "PUT", Resource: "orderstatuses", ID: 1, Record: { Name: "Paid" } },
      { Method: "DELETE", Resource: "orderstatuses", ID: 2 },
      { Method: "PUT", Resource: "brands", ID: 2, Record: { Name: "" } },
    ],
  }),
  xml: `<Batch>
    <Operation Method="POST" Resource="orderstatuses"><OrderStatus><Name>Sent &amp; paid</Name></OrderStatus></Operation>
    <Operation Method="PUT" Resource="brands" ID="1"><Brand><AccountNumber>&lt;1></AccountNumber></Brand></Operation>
    <Operation Method="PUT" Resource="orderstatuses"><OrderStatus ID="1"><Name>Paid</Name></OrderStatus></Operation>
    <Operation Method="DELETE" Resource="orderstatuses" ID="2"/>
    <Operation Method="PUT" Resource="brands" ID="2"><Brand><Name/></Brand></Operation>
  </Batch>`,
};

test.each(["json", "xml"])("the response to a batch request in %s has not changed", async (format) => {
  const body = operations[format] ?? "";
  const { text } = await server.call("POST", `/restapi/batch.${format}?dryRun=1&atomic=0`, { body });
  // The versions in entity tags depend on the random epoch, and problems contain the request ID.
  const same = text
    .replace(/\b[0-9A-Za-z]+(?=\.[0-9]+\.[0-9a-f]{8}-(?:json|xml)\b)/g, "epoch")
    .replace(/(?<=instance[">:]+)\w+/g, "request");
  const file = join(import.meta.dir, "..", "golden", `batch.${format}`);
  if (process.env.UPDATE_GOLDEN) await Bun.write(file, same);
  expect(same).toBe(await Bun.file(file).text());
});
