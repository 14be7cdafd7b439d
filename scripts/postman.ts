import type { ExampleRequest } from "./requests.ts";

/** Formats `requests` as a Postman collection (format v2.1). Other tools read this format too. */
export function toPostman(requests: readonly ExampleRequest[], description: string): string {
  const tags = [...new Set(requests.map(({ tag }) => tag))];
  const collection = {
    info: {
      name: "Storefront",
      description,
      schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    auth: {
      type: "apikey",
      apikey: [
        { key: "key", value: "X-API-AUTH", type: "string" },
        { key: "value", value: "{{key}}", type: "string" },
        { key: "in", value: "header", type: "string" },
      ],
    },
    variable: [
      { key: "url", value: "http://127.0.0.1:8080" },
      { key: "key", value: "" },
      { key: "id", value: "1" },
    ],
    item: tags.map((tag) => ({ name: tag, item: requests.filter((request) => request.tag === tag).map(toItem) })),
  };
  return `${JSON.stringify(collection, null, 2)}\n`;
}

function toItem({ name, method, path, query, headers, body }: ExampleRequest) {
  return {
    name,
    request: {
      method,
      header: Object.entries(headers).map(([key, value]) => ({ key, value })),
      url: {
        raw: `{{url}}${path}`,
        host: ["{{url}}"],
        path: path.slice(1).split("/"),
        query: query.map((parameter) => ({
          key: parameter.name,
          value: "",
          description: parameter.description,
          disabled: true,
        })),
      },
      ...(body === undefined
        ? {}
        : { body: { mode: "raw", raw: body, options: { raw: { language: languageOf(path) } } } }),
    },
  };
}

function languageOf(path: string): string {
  return path.endsWith(".xml") ? "xml" : "json";
}
