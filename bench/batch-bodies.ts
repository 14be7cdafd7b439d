// Batch request bodies with sample brands.

import { sampleBrand } from "./scenarios.ts";

export type BodyFormat = "json" | "xml";

/** Creates `count` brands. */
export function createsBody(count: number, format: BodyFormat): string {
  const brands = Array.from({ length: count }, (_, i) => sampleBrand(i + 1));
  if (format === "xml") return `<Batch>${brands.map(toXmlCreate).join("")}</Batch>`;
  return toBody(brands.map((Record) => ({ Method: "POST", Resource: "brands", Record })));
}

/**
 * Renames the first `count` sample brands; send it with `match=AccountNumber`.
 * @param name prefix of the new names
 */
export function matchedUpdatesBody(count: number, name: string): string {
  const operations = Array.from({ length: count }, (_, i) => {
    const { AccountNumber } = sampleBrand(i + 1);
    return { Method: "PUT", Resource: "brands", Record: { Name: `${name} ${i}`, AccountNumber } };
  });
  return toBody(operations);
}

/** Like `createsBody`, but every second record lacks the required name. */
export function faultyBody(count: number): string {
  const operations = Array.from({ length: count }, (_, i) => {
    const brand = sampleBrand(i + 1);
    return { Method: "POST", Resource: "brands", Record: i % 2 === 0 ? brand : { ...brand, Name: "" } };
  });
  return toBody(operations);
}

/** Returns up to 10,000 creates in at most `bytes` bytes, which the last character makes unparsable. */
export function malformedBody(bytes: number): string {
  const count = 9999;
  const operation = (fill: number) => {
    const Record = { ...sampleBrand(1), AccountNumber: "x".repeat(fill) };
    return JSON.stringify({ Method: "POST", Resource: "brands", Record });
  };
  const fill = Math.floor(bytes / count) - operation(0).length - 1;
  const body = `{"Operations":[${new Array(count).fill(operation(fill)).join(",")}]`;
  return `${body}${" ".repeat(bytes - body.length - 1)}?`;
}

function toBody(operations: readonly object[]): string {
  return JSON.stringify({ Operations: operations });
}

function toXmlCreate(brand: object): string {
  return `<Operation Method="POST" Resource="brands">${toElement("Brand", brand)}</Operation>`;
}

function toElement(name: string, value: string | object): string {
  const content =
    typeof value === "string"
      ? value
      : Object.entries(value)
          .map(([field, of]) => toElement(field, of))
          .join("");
  return `<${name}>${content}</${name}>`;
}
