import type { ExampleRequest } from "./requests.ts";

/** Formats `requests` as a `.http` file, for editors that can send requests. */
export function toHttpFile(requests: readonly ExampleRequest[]): string {
  const start = "@url = http://127.0.0.1:8080\n@key = paste the API key here\n@id = 1\n";
  return [start, ...requests.map(toEntry)].join("\n");
}

function toEntry({ tag, name, method, path, headers, body }: ExampleRequest): string {
  const type = path.endsWith(".xml") ? "application/xml" : "application/json";
  const all = { "X-API-AUTH": "{{key}}", ...headers, ...(body === undefined ? {} : { "Content-Type": type }) };
  const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}\n`);
  return `### ${tag}: ${name}\n${method} {{url}}${path}\n${lines.join("")}${body === undefined ? "" : `\n${body}\n`}`;
}
