import { type ExampleRequest, endsId, idNameOf, sentQuery } from "./requests.ts";

const description =
  "First set the variables `url` and `key` of this collection. Then send the requests of a folder from top to bottom: the first ones create a record, and the others use the ID that came back, in a variable of the collection. After you have changed `key`, begin again at the top: an ID of a sandbox can name another record of the shop.";

/** Formats `requests` as a Postman collection (v2.1), which other tools read too. */
export function toPostman(requests: readonly ExampleRequest[]): string {
  const tags = [...new Set(requests.map(({ tag }) => tag))];
  const variables = new Set(requests.flatMap(({ isIdSource, variable }) => (isIdSource ? [variable] : [])));
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
      ...[...variables].map((key) => ({ key, value: "" })),
    ],
    item: tags.map((tag) => ({ name: tag, item: requests.filter((request) => request.tag === tag).map(toItem) })),
  };
  return `${JSON.stringify(collection, null, 2)}\n`;
}

function toItem(request: ExampleRequest) {
  const { name, method, path, query, headers, variable } = request;
  const fill = (text: string) => text.replaceAll("{{id}}", `{{${variable}}}`);
  const body = request.body === undefined ? undefined : fill(request.body);
  const exec = scriptOf(request);
  return {
    name,
    ...(exec ? { event: [{ listen: "test", script: { type: "text/javascript", exec } }] } : {}),
    request: {
      method,
      header: Object.entries(headers).map(([key, value]) => ({ key, value })),
      url: {
        raw: `{{url}}${fill(path)}${sentQuery(query)}`,
        host: ["{{url}}"],
        path: fill(path).slice(1).split("/"),
        query: query.map((parameter) => ({
          key: parameter.name,
          value: parameter.value ?? "",
          description: parameter.description,
          disabled: parameter.value === undefined,
        })),
      },
      ...(body === undefined
        ? {}
        : { body: { mode: "raw", raw: body, options: { raw: { language: languageOf(path) } } } }),
    },
  };
}

/**
 * Returns a script that remembers the ID of a new record or run, or of a list's first record, and forgets that of a deleted record or undone run. If no ID
 * comes back, it forgets the previous one, so that no later request changes the wrong record. Returns undefined for other requests.
 */
function scriptOf(request: ExampleRequest): string[] | undefined {
  const { path, method, variable, isIdSource } = request;
  const set = (value: string) => `pm.collectionVariables.set("${variable}", ${value});`;
  if (endsId(request)) return [`if (pm.response.code < 300) ${set('""')}`];
  if (!isIdSource) return undefined;
  const record = method === "POST" ? "pm.response.json()" : "pm.response.json()[0]";
  const name = idNameOf(request);
  // In Bruno, `pm.response.text()` returns a JSON string, with a backslash before each quote.
  const fromXml = `pm.response.text().match(/ ${name}=\\\\?"([^"\\\\]+)/)?.[1]`;
  const id = path.endsWith(".xml") ? fromXml : `${record}?.${name}`;
  return [set(`(pm.response.code < 300 && ${id}) || ""`)];
}

function languageOf(path: string): string {
  return path.endsWith(".xml") ? "xml" : "json";
}
