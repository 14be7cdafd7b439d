import createClient from "openapi-fetch";
import type { components, paths } from "./generated/schema";

const [url = "", key = ""] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl: url, headers: { "X-API-AUTH": key } });

/** The data of a response. Throws if it is a problem document. */
function unwrap<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const brand = unwrap(await api.POST("/restapi/brands.json", { body: { Name: "Acme", Address: { Town: "Leeds" } } }));
const path = { id: brand.ID };
unwrap(await api.PUT("/restapi/brands/{id}.json", { params: { path }, body: { AccountNumber: "A1" } }));
unwrap(await api.PUT("/restapi/brands.json", { body: { ID: brand.ID, Telephone: { Mobile: "1" } } }));
unwrap(await api.PATCH("/restapi/brands/{id}.json", { params: { path }, body: { Address: { County: "Y" } } }));
unwrap(await api.PATCH("/restapi/brands.json", { body: { ID: brand.ID, Name: "Acme Ltd" } }));
const read = unwrap(await api.GET("/restapi/brands/{id}.json", { params: { path } }));
const query = { filter: { Name: "Acme Ltd" }, sort: ["-Name" as const], limit: 5 };
const list = unwrap(await api.GET("/restapi/brands.json", { params: { query } }));
const header = { "Idempotency-Key": "k" };
const other = unwrap(await api.POST("/restapi/brands.json", { params: { header }, body: { Name: "Other" } }));
unwrap(await api.DELETE("/restapi/brands.json", { body: { ID: other.ID } }));
const override = { "X-HTTP-Method-Override": "DELETE" as const };
unwrap(await api.POST("/restapi/brands/{id}.json", { params: { path, header: override } }));
const status = unwrap(await api.POST("/restapi/orderstatuses.json", { body: { Name: "Sent" } }));
const statusPath = { id: status.ID };
unwrap(
  await api.PUT("/restapi/orderstatuses/{id}.json", { params: { path: statusPath }, body: { Name: "Dispatched" } }),
);
const statuses = unwrap(await api.GET("/restapi/orderstatuses.json"));
const label = unwrap(await api.GET("/restapi/orderstatuses/{id}.json", { params: { path: statusPath } }));
unwrap(await api.PUT("/restapi/orderstatuses.json", { body: { ID: status.ID, Name: "Gone" } }));
unwrap(await api.DELETE("/restapi/orderstatuses/{id}.json", { params: { path: statusPath } }));
const last = unwrap(await api.POST("/restapi/orderstatuses.json", { body: { Name: "Last" } }));
unwrap(await api.DELETE("/restapi/orderstatuses.json", { body: { ID: last.ID } }));
const third = unwrap(await api.POST("/restapi/brands.json", { body: { Name: "Third" } }));
unwrap(await api.DELETE("/restapi/brands/{id}.json", { params: { path: { id: third.ID } } }));
const left = unwrap(await api.GET("/restapi/orderstatuses.json")).length;
const locations = unwrap(await api.GET("/restapi/locations.json"));
const location = unwrap(await api.GET("/restapi/locations/{id}.json", { params: { path: { id: 1 } } }));
const xml = unwrap(await api.GET("/restapi/locations.xml", { parseAs: "text" })) as unknown as string;
const feedQuery = { resource: ["orderstatuses" as const], limit: 2 };
const page = unwrap(await api.GET("/restapi/changes.json", { params: { query: feedQuery } }));
const [change] = page.Changes;
const followed = change?.Resource === "orderstatuses" ? change.Record?.Name : undefined;
const operations = [{ Method: "POST" as const, Resource: "brands" as const, Record: { Name: "By batch" } }];
const batch = unwrap(await api.POST("/restapi/batch.json", { body: { Operations: operations } }));
const undone = unwrap(await api.POST("/restapi/undo.json", { body: { Run: batch.Run ?? "" } }));
const { error } = await api.GET("/restapi/brands/{id}.json", { params: { path: { id: 999 } } });

/** The names of the brands in a webhook event. */
const namesIn = ({ data }: components["schemas"]["ChangesEvent"]) =>
  data.Changes.map((change) => (change.Resource === "brands" ? change.Record?.Name : undefined));
const { Changes } = unwrap(await api.GET("/restapi/changes.json", { params: { query: { resource: ["brands"] } } }));
const data = { Site: "demo", Since: "0.0", Next: page.Next, Changes };
const names = namesIn({ type: "storefront.changes", timestamp: "2026-11-21T20:15:00.123Z", data });
if (!names.includes("Acme Ltd")) throw new Error(`the event has ${names}`);

console.log(
  JSON.stringify([
    `${read.Name} ${read.AccountNumber} ${read.Telephone.Mobile} ${read.Address.Town} ${read.Address.County}`,
    list.map(({ Name }) => Name),
    statuses.map(({ Name }) => Name),
    [label.Name, left],
    [locations.length, location.Name],
    xml.includes("<Results><Location "),
    error?.type,
    [page.Changes.length, typeof followed, page.More],
    [batch.Results[0]?.Status, undone.Deleted],
  ]),
);
