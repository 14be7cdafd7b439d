// Reads and writes the interface's records (its section 2) in JSON and XML.

import { type Element, escapeXml, readXml } from "./xml.ts";

export type Format = "json" | "xml";

/** A record, with its fields in the order they arrived. */
export type ShopRecord = Readonly<Record<string, unknown>>;

const telephone = ["Daytime", "Evening", "Mobile"];
const address = [
  ...["Title", "Firstname", "Surname", "AddressLine1", "AddressLine2"],
  ...["Town", "County", "Postcode", "Country"],
];

/** Each resource's element and fields, by path. A list means nested fields. */
export const shopResources: Readonly<
  Record<string, { readonly element: string; readonly fields: Readonly<Record<string, readonly string[] | null>> }>
> = {
  brands: {
    element: "Brand",
    fields: { ID: null, Name: null, AccountNumber: null, Telephone: telephone, Address: address },
  },
  orderstatuses: { element: "OrderStatus", fields: { ID: null, Name: null } },
  locations: {
    element: "Location",
    fields: {
      ...{ ID: null, Code: null, Name: null, Manager: null, Email: null },
      ...{ Telephone: telephone, Address: address },
    },
  },
};

/** What section 12 sends and returns in the same form as records. */
const settings: typeof shopResources = {
  webhooks: { element: "Webhook", fields: {} },
  deliveries: { element: "Delivery", fields: {} },
};

export function writeRecord(path: string, record: ShopRecord, format: Format): string {
  if (format === "json") return JSON.stringify(record);
  const { ID, ...fields } = record;
  const { element } = resourceOf(path);
  const id = ID === undefined ? "" : ` ID="${escapeXml(String(ID))}"`;
  return `<${element}${id}>${writeFields(fields)}</${element}>`;
}

/** @throws if the response isn't a record */
export function readRecord(path: string, text: string, format: Format): ShopRecord {
  if (format === "xml") return recordOf(path, readXml(text));
  const value = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("the body isn't a record");
  return value;
}

/** @throws if the response isn't a list of records */
export function readList(path: string, text: string, format: Format): ShopRecord[] {
  if (format === "xml") {
    const root = readXml(text);
    if (root.name !== "Results") throw new Error(`the root is ${root.name}, not Results`);
    return root.children.map((child) => recordOf(path, child));
  }
  const value = JSON.parse(text);
  if (!Array.isArray(value)) throw new Error("the body isn't an array");
  return value;
}

/** @throws if the element has the wrong name, or attributes other than the ID */
export function recordOf(path: string, element: Element): ShopRecord {
  const resource = resourceOf(path);
  if (element.name !== resource.element) throw new Error(`the element is ${element.name}, not ${resource.element}`);
  if (Object.keys(element.attributes).join() !== "ID") throw new Error("the element has attributes other than ID");
  if (element.text.trim() !== "") throw new Error("the record has text outside its fields");
  const fields = element.children.map((child) => [
    child.name,
    resource.fields[child.name] ? Object.fromEntries(child.children.map(({ name, text }) => [name, text])) : child.text,
  ]);
  return { ID: Number(element.attributes.ID), ...Object.fromEntries(fields) };
}

/** Fills in the fields that aren't given with empty strings. */
export function completeRecord(path: string, { ...given }: ShopRecord): ShopRecord {
  const entries = Object.entries(resourceOf(path).fields).map(([name, nested]) => {
    if (!nested) return [name, given[name] ?? ""];
    const values = (given[name] ?? {}) as ShopRecord;
    return [name, Object.fromEntries(nested.map((inner) => [inner, values[inner] ?? ""]))];
  });
  return Object.fromEntries(entries);
}

function writeFields(fields: ShopRecord): string {
  return Object.entries(fields)
    .map(([name, value]) => {
      const isNested = typeof value === "object" && value !== null;
      return `<${name}>${isNested ? writeFields(value as ShopRecord) : escapeXml(String(value))}</${name}>`;
    })
    .join("");
}

function resourceOf(path: string) {
  const resource = shopResources[path] ?? settings[path];
  if (!resource) throw new Error(`unknown resource ${path}`);
  return resource;
}
