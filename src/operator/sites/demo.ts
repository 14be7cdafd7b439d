// Creates the sample site and operator of `serve --demo`.

import { operatorActor } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { parseNewRecord, type Values } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { brand } from "../../resources/brand.ts";
import { location } from "../../resources/location.ts";
import { orderStatus } from "../../resources/order-status.ts";
import type { SiteRecord } from "../../system/system-records.ts";
import { createOperator, listOperators } from "../operators/operators.ts";
import { createSignInLink } from "../operators/sessions.ts";
import { createKey } from "./keys.ts";
import { createSite, listSites } from "./sites.ts";

const demoOperator = "demo";

/**
 * Creates the default site `demo` with sample records and a read-write key, unless there are sites.
 * @returns the key, which isn't stored; undefined if there were sites
 */
export async function createDemo(engine: Engine, now: number): Promise<string | undefined> {
  const site = await createDemoSite(engine, now);
  if (!site) return undefined;
  const samples: [Resource, readonly Values[]][] = [
    [brand, brands],
    [orderStatus, orderStatuses],
    [location, locations],
  ];
  const intents = samples.flatMap(([resource, records]) =>
    records.map((values) => ({
      site: site.ID,
      resource: resource.name,
      operation: "create" as const,
      valuesJson: JSON.stringify(parseNewRecord(resource, values)),
      actor: operatorActor,
      at: now,
    })),
  );
  await engine.commit(intents, { atomic: true });
  return (await createKey(engine, site, { label: "demo" }, now)).key;
}

/** Creates a sign-in link for the operator `demo`, who is created if there are no operators. Undefined if there are only others. */
export async function createDemoLink(engine: Engine, now: number): Promise<string | undefined> {
  const operators = await listOperators(engine);
  if (operators.length === 0) await ignoreConflict(createOperator(engine, demoOperator, [], now));
  else if (!operators.some(({ Name }) => Name === demoOperator)) return undefined;
  return createSignInLink(engine, demoOperator, now);
}

async function createDemoSite(engine: Engine, now: number): Promise<SiteRecord | undefined> {
  if ((await listSites(engine)).length > 0) return undefined;
  return ignoreConflict(createSite(engine, "demo", { isDefault: true }, now));
}

/** Returns undefined on a conflict, because several servers may start at the same time and only one of them succeeds. */
async function ignoreConflict<T>(creation: Promise<T>): Promise<T | undefined> {
  try {
    return await creation;
  } catch (error) {
    if (error instanceof ProblemError && error.code === "conflict") return undefined;
    throw error;
  }
}

// Phone numbers and domains are from ranges reserved for examples.
const brands: readonly Values[] = [
  {
    Name: "Acme",
    AccountNumber: "ACC-001",
    Telephone: { Daytime: "01632 960001", Evening: "01632 960002", Mobile: "07700 900001" },
    Address: {
      Title: "Ms",
      Firstname: "Ada",
      Surname: "Smith",
      AddressLine1: "1 High Street",
      AddressLine2: "Unit 4",
      Town: "Newcastle upon Tyne",
      County: "Tyne and Wear",
      Postcode: "NE1 1AA",
      Country: "GB",
    },
  },
  { Name: "Blåbær & Sønner", AccountNumber: "ACC-002", Address: { Town: "Bergen", Country: "NO" } },
  { Name: "Café Étoile", AccountNumber: "ACC-003", Address: { Town: "Lyon", Country: "FR" } },
  { Name: "山田製作所", AccountNumber: "ACC-004", Address: { Town: "大阪", Country: "JP" } },
  {
    Name: "Zimmermann GmbH",
    AccountNumber: "ACC-005",
    Telephone: { Daytime: "030 23125001" },
    Address: { Country: "DE" },
  },
];

const orderStatuses: readonly Values[] = ["New", "Paid", "Dispatched", "Delivered", "Cancelled"].map((Name) => ({
  Name,
}));

const locations: readonly Values[] = [
  {
    Code: "NCL-01",
    Name: "Newcastle High Street",
    Manager: "Ada Smith",
    Email: "newcastle@shop.example",
    Telephone: { Daytime: "01632 960010" },
    Address: { AddressLine1: "12 High Street", Town: "Newcastle upon Tyne", Postcode: "NE1 1AB", Country: "GB" },
  },
  {
    Code: "LDN-01",
    Name: "London Bridge",
    Manager: "Grace Jones",
    Email: "london@shop.example",
    Telephone: { Daytime: "020 7946 0001" },
    Address: { AddressLine1: "3 Bridge Road", Town: "London", Postcode: "SE1 9AA", Country: "GB" },
  },
];
