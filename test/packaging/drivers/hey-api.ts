import { client } from "./generated/client.gen";
import * as api from "./generated/sdk.gen";

const [url = "", key = ""] = process.argv.slice(2);
client.setConfig({ baseUrl: url, auth: key, throwOnError: true });
const strict = { throwOnError: true } as const;

const brand = (await api.createBrand({ ...strict, body: { Name: "Acme", Address: { Town: "Leeds" } } })).data;
await api.updateBrand({ ...strict, path: { id: brand.ID }, body: { AccountNumber: "A1" } });
await api.updateBrandByBody({ ...strict, body: { ID: brand.ID, Telephone: { Mobile: "1" } } });
await api.patchBrand({ ...strict, path: { id: brand.ID }, body: { Address: { County: "Y" } } });
await api.patchBrandByBody({ ...strict, body: { ID: brand.ID, Name: "Acme Ltd" } });
const read = (await api.getBrand({ ...strict, path: { id: brand.ID } })).data;
const list = (
  await api.listBrands({ ...strict, query: { sort: ["-Name", "ID"], filter: { Name: "Acme Ltd" }, limit: 5 } })
).data;
const other = (await api.createBrand({ ...strict, body: { Name: "Other" }, headers: { "Idempotency-Key": "k" } })).data;
await api.deleteBrandByBody({ ...strict, body: { ID: other.ID } });
await api.overrideBrand({ ...strict, path: { id: brand.ID }, headers: { "X-HTTP-Method-Override": "DELETE" } });
const status = (await api.createOrderStatus({ ...strict, body: { Name: "Sent" } })).data;
await api.updateOrderStatus({ ...strict, path: { id: status.ID }, body: { Name: "Dispatched" } });
const statuses = (await api.listOrderStatuses({ ...strict })).data;
const label = (await api.getOrderStatus({ ...strict, path: { id: status.ID } })).data;
await api.updateOrderStatusByBody({ ...strict, body: { ID: status.ID, Name: "Gone" } });
await api.deleteOrderStatus({ ...strict, path: { id: status.ID } });
const last = (await api.createOrderStatus({ ...strict, body: { Name: "Last" } })).data;
await api.deleteOrderStatusByBody({ ...strict, body: { ID: last.ID } });
const third = (await api.createBrand({ ...strict, body: { Name: "Third" } })).data;
await api.deleteBrand({ ...strict, path: { id: third.ID } });
const left = (await api.listOrderStatuses({ ...strict })).data.length;
const locations = (await api.listLocations({ ...strict })).data;
const location = (await api.getLocation({ ...strict, path: { id: 1 } })).data;
const xml = (await api.listLocationsXml({ ...strict, parseAs: "text" })).data as unknown as string;
const query = { resource: ["orderstatuses" as const], limit: 2 };
const page = (await api.listChanges({ ...strict, query })).data;
const [change] = page.Changes;
const followed = change?.Resource === "orderstatuses" ? change.Record?.Name : undefined;
const operations = [{ Method: "POST" as const, Resource: "brands" as const, Record: { Name: "By batch" } }];
const batch = (await api.sendBatch({ ...strict, body: { Operations: operations } })).data;
const undone = (await api.undoRun({ ...strict, body: { Run: batch.Run ?? "" } })).data;
const { error } = await api.getBrand({ path: { id: 999 }, throwOnError: false });

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
