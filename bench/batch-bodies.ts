// Bodies of batch requests with sample brands.

import { sampleBrand } from "./scenarios.ts";

export type BodyFormat = "json" | "xml";

/** Returns the body of a batch request that creates `count` brands. */
export function createsBody(count: number, format: BodyFormat): string {
  const brands = Array.from({ length: count }, (_, i) => sampleBrand(i + 1));
  if (format === "xml") return `<Batch>${brands.map(toXmlCreate).join("")}</Batch>`;
  return toBody(brands.map((Record) => ({ Method: "POST", Resource: "brands", Record })));
}

/**
 * Returns the body of a batch request that changes the names of the first `count` sample brands, for `match=AccountNumber`.
 * @param name the new names begin with it
 */
export function matchedUpdatesBody(count: number, name: string): string {
  const operations = Array.from({ length: count }, (_, i) => {
    const { AccountNumber } = sampleBrand(i + 1);
    return { Method: "PUT", Resource: "brands", Record: { Name: `${name} ${i}`, AccountNumber } };
  });
  return toBody(operations);
}

/** Returns a body as `createsBody` does, in which every second record has no name, which it needs. */
export function faultyBody(count: number): string {
  const operations = Array.from({ length: count }, (_, i) => {
    const brand = sampleBrand(i + 1);
    return { Method: "POST", Resource: "brands", Record: i % 2 === 0 ? brand : { ...brand, Name: "" } };
  });
  return toBody(operations);
}

/** Returns a body of at most `bytes` bytes and 10,000 creates that cannot be parsed, because of its last character. */
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
