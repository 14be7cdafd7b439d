// Stalls that clients' requests cause.

import { connect } from "node:net";
import type { Stall } from "./scenarios.ts";
import { ask, type Target } from "./target.ts";

const list = "/restapi/brands.json";
/** For stalls with a body of 1 MiB or 1,000,000 records, in milliseconds. */
export const largeGoal = 50;
const fields = ["Name", "AccountNumber", "Telephone.Daytime", "Telephone.Mobile"].concat(
  ["Town", "Surname", "Postcode", "Country", "County", "Title", "Firstname", "AddressLine1"].map(
    (name) => `Address.${name}`,
  ),
);

export const clientStalls: readonly Stall[] = [
  { name: "first look-ups, until the site is loaded", work: lookUpsUntilLoaded },
  { name: "first list, JSON", work: get(list) },
  { name: "first list, XML", before: get(list), work: get("/restapi/brands.xml") },
  { name: "first list, gzip", before: get(list), work: get(list, { coding: "gzip" }) },
  { name: "first list, zstd", before: get(list), work: get(list, { coding: "zstd" }) },
  {
    name: "first list of a site ten times as large",
    contents: "1,000,000 brands",
    goal: largeGoal,
    work: get(list, { coding: "gzip" }),
  },
  {
    name: "first lists from 100 sites at once, XML",
    contents: "100 sites",
    before: ofSites(100, list),
    work: ofSites(100, "/restapi/brands.xml"),
  },
  { name: "sort=Name", before: get(list), work: get(`${list}?sort=Name&limit=10`) },
  { name: "sort by 8 fields", before: get(list), work: get(`${list}?sort=${fields.slice(0, 8).join(",")}&limit=10`) },
  { name: "filter, contains", before: get(list), work: get(`${list}?filter[Name][contains]=9&limit=10`) },
  { name: "16 filters", before: get(list), work: get(`${list}?${filtersOf(16)}&limit=10`) },
  { name: "20 different filters at once", before: get(list), work: filtersAtOnce(20) },
  { name: "whole list, fields=Name", before: get(list), work: get(`${list}?fields=Name`) },
  { name: "pages at large offsets, site not loaded", work: pagesWithOffsets },
  { name: "a write, then the list, 5 times", before: get(list), work: writesAndLists(5) },
  { name: "1,000 writes on 16 connections", before: get(list), work: writes(1000, 16) },
  {
    name: "two sites that evict each other (--memory 64)",
    contents: "two large sites",
    flags: ["--memory", "64"],
    work: listsInTurn(3),
  },
  { name: "body of 1 MiB: unknown fields", goal: largeGoal, work: post(`{${unknownFields(85_000)}}`) },
  { name: "body of 1 MiB: deep", goal: largeGoal, work: post(`${"[".repeat(500_000)}${"]".repeat(500_000)}`) },
  {
    name: "body of 1 MiB: one long name",
    goal: largeGoal,
    work: post(JSON.stringify({ Name: "x".repeat(1_000_000) })),
  },
  {
    name: "body of 1 MiB: XML, many elements",
    goal: largeGoal,
    work: post(`<brand>${"<a/>".repeat(250_000)}</brand>`, "xml"),
  },
  { name: "documentation", work: documentation },
  { name: "pipelining, 1 connection, 2 s", work: pipeline(1, 2) },
  { name: "pipelining, 50 connections, 2 s", work: pipeline(50, 2) },
];

/** Returns a function that sends a request and throws if it fails. */
export function get(path: string, { coding = "identity", site = "large" } = {}) {
  return async (target: Target) => {
    const response = await ask(target, path, { headers: { "Accept-Encoding": coding } }, site);
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
  };
}

/** Returns a function that sends a request to many sites at once. */
function ofSites(count: number, path: string) {
  return (target: Target) =>
    Promise.all(Array.from({ length: count }, (_, index) => get(path, { site: `site-${index}` })(target)));
}

/** @throws if the write fails */
export async function change(target: Target, id: number, to: string): Promise<void> {
  const body = JSON.stringify({ Name: to });
  const response = await ask(target, `/restapi/brands/${id}.json`, { method: "PUT", body });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`change: ${response.status}`);
}

/** Sends enough look-ups to make the server load the site in the background, and waits a second. */
async function lookUpsUntilLoaded(target: Target) {
  const connections = Array.from({ length: 16 }, async (_, index) => {
    for (let i = 0; i < target.brands / 100; i++) await get(`/restapi/brands/${1 + index + 16 * i}.json`)(target);
  });
  await Promise.all(connections);
  await Bun.sleep(1000);
}

async function pagesWithOffsets(target: Target) {
  for (const offset of [1000, 9000, 10_000, target.brands - 1000])
    await get(`${list}?limit=1000&offset=${offset}`)(target);
}

function post(body: string, format = "json") {
  const path = `/restapi/brands.${format}`;
  return async (target: Target) => void (await (await ask(target, path, { method: "POST", body })).arrayBuffer());
}

function writesAndLists(count: number) {
  return async (target: Target) => {
    for (let id = 1; id <= count; id++) {
      await change(target, id * 100, `Changed ${id}`);
      await get(list)(target);
    }
  };
}

function writes(count: number, connections: number) {
  return async (target: Target) => {
    const client = async (index: number) => {
      for (let id = index + 1; id <= count; id += connections) await change(target, id, `Changed ${id}`);
    };
    await Promise.all(Array.from({ length: connections }, (_, index) => client(index)));
  };
}

function listsInTurn(count: number) {
  return async (target: Target) => {
    for (let i = 0; i < count; i++) for (const site of ["large", "other"]) await get(list, { site })(target);
  };
}

function filtersAtOnce(count: number) {
  return (target: Target) =>
    Promise.all(
      Array.from({ length: count }, (_, i) => get(`${list}?filter[Name][contains]=${i}&sort=Name&limit=10`)(target)),
    );
}

async function documentation(target: Target) {
  for (const path of ["/docs", "/docs/operating/start", "/openapi.json", "/openapi.yaml", "/docs/postman.json"])
    for (const coding of ["gzip", "identity"])
      await (await ask(target, path, { headers: { "Accept-Encoding": coding } })).arrayBuffer();
}

/** Sends requests as fast as the server reads them, without waiting for responses. */
function pipeline(connections: number, seconds: number) {
  return async ({ url }: Target) => {
    const requests = "GET /nope HTTP/1.1\r\nHost: large.test\r\n\r\n".repeat(200);
    const sockets = Array.from({ length: connections }, () => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      const fill = () => {
        while (!socket.destroyed && socket.write(requests));
      };
      socket.on("connect", fill).on("drain", fill);
      return socket.on("data", () => {}).on("error", () => {});
    });
    await Bun.sleep(seconds * 1000);
    for (const socket of sockets) socket.destroy();
  };
}

function unknownFields(count: number): string {
  const all = Array.from({ length: count }, (_, index) => `"field${index}":""`);
  return all
    .join(",")
    .slice(0, 1_040_000)
    .replace(/,[^,]*$/, "");
}

function filtersOf(count: number): string {
  const all = [...fields, ...fields].slice(0, count);
  return all.map((path, index) => `filter[${path}][contains]=${index}`).join("&");
}
