// Types of lists with `fields`: the compiler knows which fields the records have.

import { afterAll, expect, test } from "bun:test";
import { type Address, type Brand, type BrandPath, createClient, type PartialRecord } from "../../src/client/client.ts";
import { startTestServer } from "../support/http/server.ts";

const server = await startTestServer();
const client = createClient({ url: server.url, key: server.key });
await client.brands.create({ Name: "Acme", Address: { Town: "Leeds", Country: "GB" } });
afterAll(() => server.stop());

type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;

/** Fails type checking unless `value` has exactly the type `Expected`. */
function expectRecord<Expected>() {
  return <Value>(value: Value, _isSame: Same<Value, Expected>) => expect(value as unknown);
}

test("`fields` with names, paths in groups and whole groups: just those", async () => {
  const [name] = await client.brands.list({ fields: ["Name"] });
  expectRecord<{ readonly ID: number; Name: string } | undefined>()(name, true).toEqual({ ID: 1, Name: "Acme" });
  const fields = ["Address.Town", "Address.Country", "ID"] as const;
  const [town] = await client.brands.list({ fields, limit: 1 });
  expectRecord<{ readonly ID: number; Address: { Town: string; Country: string } } | undefined>()(town, true).toEqual({
    ID: 1,
    Address: { Town: "Leeds", Country: "GB" },
  });
  const [whole] = await client.brands.list({ fields: ["Address", "Address.Town", "Telephone.Mobile"] });
  expectRecord<{ readonly ID: number; Telephone: { Mobile: string }; Address: Address } | undefined>()(
    whole,
    true,
  ).toMatchObject({ Telephone: { Mobile: "" }, Address: { Title: "", Town: "Leeds" } });
  // @ts-expect-error: the response doesn't have this field
  expect(name?.AccountNumber).toBeUndefined();
  // @ts-expect-error: nor this one
  expect(town?.Address.Title).toBeUndefined();
});

test("`fields` empty or absent: every field", async () => {
  const [all] = await client.brands.list({ fields: [] });
  expectRecord<Brand | undefined>()(all, true).toMatchObject({ AccountNumber: "" });
  const [plain] = await client.brands.list({ sort: "Name" });
  expectRecord<Brand | undefined>()(plain, true).toEqual(all);
});

test("`fields` computed at run time: each field is optional", async () => {
  const computed: BrandPath[] = ["Name"];
  const [some] = await client.brands.list({ fields: computed });
  expectRecord<PartialRecord<Brand> | undefined>()(some, true).toEqual({ ID: 1, Name: "Acme" });
  const [first] = computed as [BrandPath];
  const [one] = await client.brands.list({ fields: [first] });
  expectRecord<PartialRecord<Brand> | undefined>()(one, true).toEqual({ ID: 1, Name: "Acme" });
  const town: string | undefined = some?.Address?.Town;
  expect(town).toBeUndefined();
});

test("`fields` with an unknown field: rejected by the compiler and the server", async () => {
  // @ts-expect-error: no such field
  await expect(client.brands.list({ fields: ["Town"] })).rejects.toMatchObject({ code: "bad-request" });
  // @ts-expect-error: order statuses have no such field
  await expect(client.orderStatuses.list({ fields: ["Address"] })).rejects.toMatchObject({ status: 400 });
});

test("`fields` with ifNoneMatch: just those too", async () => {
  const list = await client.brands.list({ fields: ["Name"] }, { ifNoneMatch: undefined });
  expectRecord<{ readonly ID: number; Name: string } | undefined>()(list?.[0], true).toEqual({ ID: 1, Name: "Acme" });
});
