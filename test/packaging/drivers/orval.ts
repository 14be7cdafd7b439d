import * as api from "./generated/client";

const [url = "", key = ""] = process.argv.slice(2);
// The generated client requests paths, as a web page does. This adds the server's address.
const send = globalThis.fetch;
globalThis.fetch = ((path: string, init?: RequestInit) => send(url + path, init)) as typeof fetch;
const headers = { "X-API-AUTH": key };

/** The data of a response. Throws if its status isn't `status`. */
function unwrap<A extends { status: number; data: unknown }, S extends A["status"]>(
  response: A,
  status: S,
): Extract<A, { status: S }>["data"] {
  if (response.status !== status) throw new Error(`${response.status}: ${JSON.stringify(response.data)}`);
  return (response as Extract<A, { status: S }>).data;
}

const brand = unwrap(await api.createBrand({ Name: "Acme", Address: { Town: "Leeds" } }, undefined, { headers }), 201);
unwrap(await api.updateBrand(brand.ID, { AccountNumber: "A1" }, undefined, { headers }), 200);
unwrap(await api.updateBrandByBody({ ID: brand.ID, Telephone: { Mobile: "1" } }, undefined, { headers }), 200);
unwrap(await api.patchBrand(brand.ID, { Address: { County: "Y" } }, undefined, { headers }), 200);
unwrap(await api.patchBrandByBody({ ID: brand.ID, Name: "Acme Ltd" }, undefined, { headers }), 200);
const read = unwrap(await api.getBrand(brand.ID, { headers }), 200);
const list = unwrap(await api.listBrands({ sort: ["-Name"], limit: 5 }, { headers }), 200);
const other = unwrap(
  await api.createBrand({ Name: "Other" }, undefined, { headers: { ...headers, "Idempotency-Key": "k" } }),
  201,
);
unwrap(await api.deleteBrandByBody({ ID: other.ID }, undefined, { headers }), 200);
const override = { ...headers, "X-HTTP-Method-Override": "DELETE" };
unwrap(await api.overrideBrand(brand.ID, {}, undefined, { headers: override }), 200);
const status = unwrap(await api.createOrderStatus({ Name: "Sent" }, undefined, { headers }), 201);
unwrap(await api.updateOrderStatus(status.ID, { Name: "Dispatched" }, undefined, { headers }), 200);
const statuses = unwrap(await api.listOrderStatuses(undefined, { headers }), 200);
const label = unwrap(await api.getOrderStatus(status.ID, { headers }), 200);
unwrap(await api.updateOrderStatusByBody({ ID: status.ID, Name: "Gone" }, undefined, { headers }), 200);
unwrap(await api.deleteOrderStatus(status.ID, undefined, { headers }), 200);
const last = unwrap(await api.createOrderStatus({ Name: "Last" }, undefined, { headers }), 201);
unwrap(await api.deleteOrderStatusByBody({ ID: last.ID }, undefined, { headers }), 200);
const third = unwrap(await api.createBrand({ Name: "Third" }, undefined, { headers }), 201);
unwrap(await api.deleteBrand(third.ID, undefined, { headers }), 200);
const left = unwrap(await api.listOrderStatuses(undefined, { headers }), 200).length;
const locations = unwrap(await api.listLocations(undefined, { headers }), 200);
const location = unwrap(await api.getLocation(1, { headers }), 200);
const xml = await (await send(url + api.getListLocationsXmlUrl(), { headers })).text();
const page = unwrap(await api.listChanges({ resource: ["orderstatuses"], limit: 2 }, { headers }), 200);
const [change] = page.Changes;
const followed = change?.Resource === "orderstatuses" ? change.Record?.Name : undefined;
const operations = [{ Method: "POST" as const, Resource: "brands" as const, Record: { Name: "By batch" } }];
const batch = unwrap(await api.sendBatch({ Operations: operations }, undefined, { headers }), 200);
const undone = unwrap(await api.undoRun({ Run: batch.Run ?? "" }, undefined, { headers }), 200);
const problem = unwrap(await api.getBrand(999, { headers }), 404);

console.log(
  JSON.stringify([
    `${read.Name} ${read.AccountNumber} ${read.Telephone.Mobile} ${read.Address.Town} ${read.Address.County}`,
    list.map(({ Name }) => Name),
    statuses.map(({ Name }) => Name),
    [label.Name, left],
    [locations.length, location.Name],
    xml.includes("<Results><Location "),
    problem.type,
    [page.Changes.length, typeof followed, page.More],
    [batch.Results[0]?.Status, undone.Deleted],
  ]),
);
