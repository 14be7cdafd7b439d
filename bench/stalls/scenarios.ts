// What one client or operator can do to a site of many records. Each runs on a server of its own that has not loaded the site yet.

import { connect } from "node:net";

/** A server with a large site at the host `large.test`. */
export interface Target {
  readonly url: string;
  readonly key: string;
  /** Runs a command of the command line on the same database; `input` names a file that is made with that many brands. */
  command(...args: string[]): Promise<void>;
  /** A CSV file with the large site's number of brands. */
  readonly csv: string;
}

export interface Stall {
  readonly name: string;
  /** Done before the probes begin. */
  readonly before?: (target: Target) => Promise<unknown>;
  readonly work: (target: Target) => Promise<unknown>;
}

const list = "/restapi/brands.json";
const paths = ["Name", "AccountNumber", "Telephone.Daytime", "Telephone.Mobile", "Address.Town", "Address.Surname"];
const more = [
  "Address.Postcode",
  "Address.Country",
  "Address.County",
  "Address.Title",
  "Address.Firstname",
  "Address.AddressLine1",
];

export const stalls: readonly Stall[] = [
  { name: "nothing, for 3 s", work: () => Bun.sleep(3000) },
  { name: "first look-up", work: get("/restapi/brands/5.json") },
  { name: "first list, JSON", before: get("/restapi/brands/5.json"), work: get(list) },
  { name: "first list, XML", before: get("/restapi/brands/5.json"), work: get("/restapi/brands.xml") },
  { name: "first list, gzip", before: get(list), work: get(list, "gzip") },
  { name: "first list, zstd", before: get(list), work: get(list, "zstd") },
  { name: "sort=Name", before: get(list), work: get(`${list}?sort=Name&limit=10`) },
  { name: "sort by 8 fields", before: get(list), work: get(`${list}?sort=${sortOf(8)}&limit=10`) },
  { name: "filter, contains", before: get(list), work: get(`${list}?filter[Name][contains]=9&limit=10`) },
  { name: "16 filters", before: get(list), work: get(`${list}?${filtersOf(16)}&limit=10`) },
  { name: "list, not paged, fields=Name", before: get(list), work: get(`${list}?fields=Name`) },
  { name: "a write, then the list, 5 times", before: get(list), work: writesAndLists(5) },
  { name: "body of 1 MiB: unknown fields", work: post(`{${fields(85_000)}}`) },
  { name: "body of 1 MiB: deep", work: post(`${"[".repeat(500_000)}${"]".repeat(500_000)}`) },
  { name: "body of 1 MiB: one long name", work: post(JSON.stringify({ Name: "x".repeat(1_000_000) })) },
  { name: "pipelining, 1 connection, 3 s", work: pipeline(1, 3) },
  { name: "pipelining, 50 connections, 3 s", work: pipeline(50, 3) },
  {
    name: "export",
    work: ({ command }) => command("export", "--site", "large", "brands", "/dev/null", "--format", "json"),
  },
  { name: "backup", work: ({ command }) => command("backup", "/dev/null") },
  {
    name: "import",
    before: get(list),
    work: ({ command, csv }) => command("import", "--site", "large", "brands", csv),
  },
  {
    name: "import --atomic",
    before: get(list),
    work: ({ command, csv }) => command("import", "--site", "large", "brands", csv, "--atomic"),
  },
];

function get(path: string, coding = "identity") {
  return async (target: Target) => {
    const response = await ask(target, path, { headers: { "Accept-Encoding": coding } });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
  };
}

function post(body: string) {
  return async (target: Target) => void (await (await ask(target, list, { method: "POST", body })).arrayBuffer());
}

function writesAndLists(count: number) {
  return async (target: Target) => {
    for (let id = 1; id <= count; id++) {
      const body = JSON.stringify({ Name: `Changed ${id}` });
      await (await ask(target, `/restapi/brands/${id * 100}.json`, { method: "PUT", body })).arrayBuffer();
      await get(list)(target);
    }
  };
}

/** Sends requests without waiting for their responses, as fast as they are taken. */
function pipeline(connections: number, seconds: number) {
  return async ({ url }: Target) => {
    const requests = "GET /nope HTTP/1.1\r\nHost: large.test\r\n\r\n".repeat(200);
    const sockets = Array.from({ length: connections }, () => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      const fill = () => {
        while (!socket.destroyed && socket.write(requests));
      };
      socket
        .on("connect", fill)
        .on("drain", fill)
        .on("data", () => {});
      socket.on("error", () => {});
      return socket;
    });
    await Bun.sleep(seconds * 1000);
    for (const socket of sockets) socket.destroy();
  };
}

function ask({ url, key }: Target, path: string, init: RequestInit): Promise<Response> {
  return fetch(url + path, { ...init, headers: { Host: "large.test", "X-API-AUTH": key, ...init.headers } });
}

function fields(count: number): string {
  return Array.from({ length: count }, (_, index) => `"field${index}":""`)
    .join(",")
    .slice(0, 1_040_000)
    .replace(/,[^,]*$/, "");
}

function sortOf(count: number): string {
  return [...paths, ...more].slice(0, count).join(",");
}

function filtersOf(count: number): string {
  const all = [...paths, ...more, ...paths].slice(0, count);
  return all.map((path, index) => `filter[${path}][contains]=${index}`).join("&");
}
