import { cpSync } from "node:fs";
import { join } from "node:path";
import { freePort, type Measured, startServerAt } from "../process.ts";
import { sampleBrand } from "../scenarios.ts";
import { type Api, type Brand, type Operation, type Peer, perform, toBrand, toRequest } from "./peer.ts";

const version = "3.7.3";

export const vendure: Peer = {
  name: `Vendure ${version}`,
  packages: { "@vendure/core": version, "better-sqlite3": "13.2.0" },
  builds: ["better-sqlite3", "bcrypt"],
  // This package's newest release requires one that some registries don't have.
  overrides: { "@graphql-tools/delegate": "12.2.1", "better-sqlite3": "13.2.0" },
  note: "Brands are values of a facet `brand`, as the manual suggests, with the other fields as custom fields. GraphQL admin API with a bearer token. Vendure opens SQLite with a rollback journal and synchronous=full. A create reads the whole facet first. Logs errors only.",
  async start({ folder, env, brands }) {
    cpSync(join(import.meta.dir, "../servers/vendure.cjs"), join(folder, "vendure.cjs"));
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    const place = { url, cwd: folder, env: { ...env, PORT: String(port) }, log: join(folder, "log") };
    const server = await startServerAt(vendure.name, ["node", "vendure.cjs"], place);
    const api = apiFor(await logIn(server));
    await perform(server, api.createFacet);
    for (let i = 0; i < brands.length; i += 100) await perform(server, api.createBrands(brands.slice(i, i + 100)));
    return { server, api };
  },
};

/** Returns the new session's token. */
async function logIn({ url }: Measured): Promise<string> {
  const query = `mutation { login(username: "bench", password: "bench-bench", rememberMe: true) { __typename } }`;
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${url}/admin-api`, { method: "POST", headers, body: JSON.stringify({ query }) });
  const token = response.headers.get("vendure-auth-token");
  if (!token) throw new Error(`can't log in to Vendure: ${await response.text()}`);
  return token;
}

const fields = `id name customFields {
  AccountNumber
  Telephone { Daytime Evening Mobile }
  Address { Title Firstname Surname AddressLine1 AddressLine2 Town County Postcode Country }
}`;

/** Returns the operations and the requests that store the brands. */
function apiFor(token: string) {
  // biome-ignore lint/suspicious/noExplicitAny: whatever GraphQL returns
  const graphql = <Result>(query: string, variables: object, read: (data: any) => Result): Operation<Result> => ({
    request: toRequest("POST", "/admin-api", { Authorization: `Bearer ${token}` }, { query, variables }),
    read: ({ data }) => read(data),
  });
  const createBrands = (brands: readonly Brand[]) =>
    graphql(
      `mutation ($input: [CreateFacetValueInput!]!) { createFacetValues(input: $input) { ${fields} } }`,
      { input: brands.map(toInput) },
      ({ createFacetValues: [created] }) => Number(created.id),
    );
  return {
    createFacet: graphql(
      `mutation { createFacet(input: {
        code: "brand", isPrivate: false, translations: [{ languageCode: en, name: "Brand" }]
      }) { id } }`,
      {},
      ({ createFacet }) => createFacet.id,
    ),
    createBrands,
    lookUp: (id) =>
      graphql(`query ($id: ID!) { facetValue(id: $id) { ${fields} } }`, { id: String(id) }, ({ facetValue }) =>
        fromValue(facetValue),
      ),
    list: graphql(`{ facetValues(options: { take: 1000 }) { items { ${fields} } } }`, {}, ({ facetValues }) =>
      facetValues.items.map(fromValue),
    ),
    create: createBrands([sampleBrand(0)]),
    update: graphql(
      `mutation ($input: [UpdateFacetValueInput!]!) { updateFacetValues(input: $input) { ${fields} } }`,
      { input: [{ id: "7", translations: [toTranslation("Changed [<id>]")] }] },
      ({ updateFacetValues: [updated] }) => fromValue(updated),
    ),
  } satisfies Api & Record<string, unknown>;
}

function toInput({ Name, AccountNumber, Telephone, Address }: Brand) {
  return {
    facetId: "1",
    code: Name.toLowerCase().replaceAll(" ", "-"),
    translations: [toTranslation(Name)],
    customFields: { AccountNumber, Telephone, Address },
  };
}

function toTranslation(name: string) {
  return { languageCode: "en", name };
}

// biome-ignore lint/suspicious/noExplicitAny: whatever GraphQL returns
function fromValue({ name, customFields }: any): Brand {
  return toBrand({ Name: name, ...customFields });
}
