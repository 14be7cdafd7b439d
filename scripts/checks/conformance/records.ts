// The records of the interface (section 2), and how they are written in JSON and XML.

import { type Element, escapeXml, readXml } from "./xml.ts";

export type Format = "json" | "xml";

/** A record, with its fields in the order in which they arrived. */
export type ShopRecord = Readonly<Record<string, unknown>>;

const telephone = ["Daytime", "Evening", "Mobile"];
const address = [
  ...["Title", "Firstname", "Surname", "AddressLine1", "AddressLine2"],
  ...["Town", "County", "Postcode", "Country"],
];

/** The elements and fields of the resources, by path. A field with a list contains the fields of the list. */
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

/** Returns the body of a request: the record in the format. */
export function writeRecord(path: string, record: ShopRecord, format: Format): string {
  if (format === "json") return JSON.stringify(record);
  const { ID, ...fields } = record;
  const { element } = resourceOf(path);
  const id = ID === undefined ? "" : ` ID="${escapeXml(String(ID))}"`;
  return `<${element}${id}>${writeFields(fields)}</${element}>`;
}

/** Returns the record of a response. Throws if it is not one. */
export function readRecord(path: string, text: string, format: Format): ShopRecord {
  if (format === "xml") return recordOf(path, readXml(text));
  const value = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("the body is not a record");
  return value;
}

/** Returns the records of a list. Throws if it is not one. */
export function readList(path: string, text: string, format: Format): ShopRecord[] {
  if (format === "xml") {
    const root = readXml(text);
    if (root.name !== "Results") throw new Error(`the root is ${root.name}, not Results`);
    return root.children.map((child) => recordOf(path, child));
  }
  const value = JSON.parse(text);
  if (!Array.isArray(value)) throw new Error("the body is not an array");
  return value;
}

/** Returns the record of an element. Throws if the element has other attributes than the ID, or another name. */
export function recordOf(path: string, element: Element): ShopRecord {
  const resource = resourceOf(path);
  if (element.name !== resource.element) throw new Error(`the element is ${element.name}, not ${resource.element}`);
  if (Object.keys(element.attributes).join() !== "ID") throw new Error("the attributes are not the ID alone");
  if (element.text.trim() !== "") throw new Error("the record has text outside of fields");
  const fields = element.children.map((child) => [
    child.name,
    resource.fields[child.name] ? Object.fromEntries(child.children.map(({ name, text }) => [name, text])) : child.text,
  ]);
  return { ID: Number(element.attributes.ID), ...Object.fromEntries(fields) };
}

/** Returns the complete record that has these fields: the other fields are empty. */
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
  const resource = shopResources[path];
  if (!resource) throw new Error(`there is no resource ${path}`);
  return resource;
}
