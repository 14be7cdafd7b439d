import type { Request } from "./load.ts";
import type { Site } from "./site.ts";

export interface Scenario {
  readonly name: string;
  readonly request: Request;
  readonly connections: number;
  /** Whether the servers written by hand support the request. */
  readonly byHand: boolean;
  /** Whether to measure it again with the server on all cores. */
  readonly onAllCores?: true;
  /** Whether it's part of the short run. */
  readonly smoke?: true;
}

const name = (i: number) => `Brand ${i} Manufacturing Company`;

/** About 330 bytes of JSON, a typical size. */
export function sampleBrand(i: number) {
  return {
    Name: name(i),
    AccountNumber: `ACC-${100000 + i}`,
    Telephone: { Daytime: "01632 960001", Evening: "", Mobile: "07700 900001" },
    Address: {
      Title: "Ms",
      Firstname: "Ada",
      Surname: "Smith",
      AddressLine1: `${i} High Street`,
      AddressLine2: "",
      Town: "Newcastle",
      County: "",
      Postcode: "NE1 1AA",
      Country: "GB",
    },
  };
}

/** With their IDs, 1 to `count`. */
export function sampleBrands(count: number) {
  return Array.from({ length: count }, (_, i) => ({ ID: i + 1, ...sampleBrand(i + 1) }));
}

/** For `storefront import`. */
export function sampleCsv(count: number): string {
  const lines = [
    "Name,AccountNumber,Telephone.Daytime,Telephone.Mobile,Address.Title,Address.Firstname,Address.Surname,Address.AddressLine1,Address.Town,Address.Postcode,Address.Country",
  ];
  for (let i = 1; i <= count; i++) {
    const { Name, AccountNumber, Telephone, Address } = sampleBrand(i);
    const { Title, Firstname, Surname, AddressLine1, Town, Postcode, Country } = Address;
    lines.push(
      [
        Name,
        AccountNumber,
        Telephone.Daytime,
        Telephone.Mobile,
        Title,
        Firstname,
        Surname,
        AddressLine1,
        Town,
        Postcode,
        Country,
      ].join(","),
    );
  }
  return `${lines.join("\n")}\n`;
}

/** Returns a CSV file with brands of about 2.5 kB of JSON each: almost as long as allowed, in two-byte letters. */
export function wideCsv(count: number): string {
  const lengths = { Name: 255, "Address.AddressLine1": 255, "Address.AddressLine2": 255 };
  const all = {
    ...lengths,
    "Address.Town": 128,
    "Address.County": 128,
    "Address.Surname": 128,
    "Address.Firstname": 128,
  };
  const toText = (id: number, length: number) => `${id} `.padEnd(length, "é");
  const toLine = (id: number) => Object.values(all).map((length) => toText(id, length));
  const lines = Array.from({ length: count }, (_, index) => toLine(index + 1).join(","));
  return `${[Object.keys(all).join(","), ...lines].join("\n")}\n`;
}

/** For a site of `count` brands. */
export function scenariosFor(count: number, { key, limitedKey }: Pick<Site, "key" | "limitedKey">): Scenario[] {
  const headers = { "X-API-AUTH": key, "Accept-Encoding": "identity" };
  const get = (path: string, more: Record<string, string> = {}): Request => ({
    method: "GET",
    path,
    headers: { ...headers, ...more },
  });
  const write = (method: string, body: unknown): Request => ({
    method,
    path: "/restapi/brands.json",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const list = `list of ${count}`;
  const small: Scenario[] = [
    {
      name: "look-up, JSON",
      request: get("/restapi/brands/500.json"),
      connections: 32,
      byHand: true,
      smoke: true,
      onAllCores: true,
    },
    {
      name: "look-up, JSON, key with rights and networks",
      request: get("/restapi/brands/500.json", { "X-API-AUTH": limitedKey }),
      connections: 32,
      byHand: false,
      smoke: true,
    },
    {
      name: "look-up, XML",
      request: get("/restapi/brands/500.xml"),
      connections: 32,
      byHand: false,
      smoke: true,
      onAllCores: true,
    },
  ];
  const lists: Scenario[] = [
    { name: `${list}, JSON`, request: get("/restapi/brands.json"), connections: 32, byHand: true, smoke: true },
    {
      name: `${list}, gzip`,
      request: get("/restapi/brands.json", { "Accept-Encoding": "gzip" }),
      connections: 32,
      byHand: false,
    },
    {
      name: `${list}, If-None-Match`,
      request: get("/restapi/brands.json", { "If-None-Match": "*" }),
      connections: 32,
      byHand: false,
    },
    {
      name: `${list}, limit=100`,
      request: get("/restapi/brands.json?limit=100&offset=200"),
      connections: 32,
      byHand: false,
    },
    {
      name: `${list}, sort=Name, limit=100`,
      request: get("/restapi/brands.json?sort=Name&limit=100"),
      connections: 32,
      byHand: false,
    },
    {
      name: `${list}, filter`,
      request: get("/restapi/brands.json?filter[Name][contains]=99&limit=100"),
      connections: 32,
      byHand: false,
    },
  ];
  const writes: Scenario[] = [
    {
      name: "create, durable, 64 connections",
      request: write("POST", sampleBrand(0)),
      connections: 64,
      byHand: true,
      smoke: true,
    },
    { name: "create, durable, 1 connection", request: write("POST", sampleBrand(0)), connections: 1, byHand: true },
    {
      name: "update, durable, 64 connections",
      request: write("PUT", { ID: 7, Name: "Changed [<id>]" }),
      connections: 64,
      byHand: true,
      smoke: true,
    },
  ];
  return count >= 10_000 ? lists : [...small, ...lists, ...writes];
}
