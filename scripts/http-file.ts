import type { ExampleRequest, IdSource } from "./requests.ts";

/** How an editor passes the ID of a response to later requests. */
export type HttpDialect = "rest-client" | "jetbrains";

const beginnings: Readonly<Record<HttpDialect, string>> = {
  "rest-client": "# For VS Code with the extension REST Client, and for Visual Studio.\n",
  jetbrains: "# For the HTTP client of JetBrains IDEs, and for httpYac.\n",
};

const introduction = `# First set @key, and @url if it is not this server. Then send the requests of a resource from top to bottom: the first
# ones create a record, and the others use the ID that came back.

@url = http://127.0.0.1:8080
@key = paste the API key here
`;

/** Formats `requests` as a `.http` file, for editors that can send requests. */
export function toHttpFile(requests: readonly ExampleRequest[], dialect: HttpDialect): string {
  const entries = requests.map((request) => toEntry(request, dialect));
  return [beginnings[dialect] + introduction, ...entries].join("\n");
}

function toEntry(request: ExampleRequest, dialect: HttpDialect): string {
  const { tag, name, id, method, path, isIdSource } = request;
  const fill = (text: string) => text.replaceAll("{{id}}", idOf(request, dialect));
  const body = request.body === undefined ? "" : `\n${fill(request.body)}\n`;
  const isNamed = isIdSource && dialect === "rest-client";
  const script = isIdSource && dialect === "jetbrains" ? keepId(request) : "";
  return `### ${tag}: ${name}\n${isNamed ? `# @name ${id}\n` : ""}${method} {{url}}${fill(path)}\n${headerLines(request)}${body}${script}`;
}

function headerLines({ path, headers, body }: ExampleRequest): string {
  const type = path.endsWith(".xml") ? "application/xml" : "application/json";
  const all = { "X-API-AUTH": "{{key}}", ...headers, ...(body === undefined ? {} : { "Content-Type": type }) };
  return Object.entries(all)
    .map(([header, value]) => `${header}: ${value}\n`)
    .join("");
}

/** Returns what stands for the ID of a record in this dialect. */
function idOf({ variable, idSource }: ExampleRequest, dialect: HttpDialect): string {
  if (dialect === "jetbrains" || !idSource) return `{{${variable}}}`;
  return `{{${idSource.id}.response.body.${idPath(idSource)}}}`;
}

/** Returns where the ID is in the response: JSONPath, or XPath for XML. */
function idPath({ kind, element }: IdSource): string {
  if (element !== undefined) return `//${element}/@ID`;
  return kind === "record" ? "$.ID" : "$[0].ID";
}

/**
 * Returns the script that keeps the ID of the new record, whose path has it in both formats, or of the first record of a list. A list in XML has none: the
 * list in JSON before it has set the same variable.
 */
function keepId({ method, path, variable }: ExampleRequest): string {
  if (method === "GET" && path.endsWith(".xml")) return "";
  const id =
    method === "GET" ? "response.body[0].ID" : 'response.headers.valueOf("Location").match(/(\\d+)\\.\\w+$/)[1]';
  return `\n> {% client.global.set("${variable}", ${id}); %}\n`;
}
