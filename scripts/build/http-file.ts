import { type ExampleRequest, endsId, type IdSource, idNameOf, sentQuery } from "./requests.ts";

/** How an editor passes an ID from a response to later requests. */
export type HttpDialect = "rest-client" | "jetbrains";

const firstLines: Readonly<Record<HttpDialect, string>> = {
  "rest-client": "# For VS Code with the REST Client extension, and for Visual Studio.\n",
  jetbrains: "# For the HTTP client in JetBrains IDEs, and for httpYac.\n",
};

const introduction = `# First set @key, and @url if it is not this server. Then send the requests of a resource from top to bottom: the first
# ones create a record, and the others use the ID that came back. After you have changed @key, begin again at the top: an
# ID of a sandbox can name another record of the shop.

@url = http://127.0.0.1:8080
@key = paste the API key here
`;

/** Formats `requests` as a `.http` file for editors that can send requests. */
export function toHttpFile(requests: readonly ExampleRequest[], dialect: HttpDialect): string {
  const entries = requests.map((request) => toEntry(request, dialect));
  return [firstLines[dialect] + introduction, ...entries].join("\n");
}

function toEntry(request: ExampleRequest, dialect: HttpDialect): string {
  const { tag, name, id, method, path, isIdSource } = request;
  const fill = (text: string) => text.replaceAll("{{id}}", idOf(request, dialect));
  const body = request.body === undefined ? "" : `\n${fill(request.body)}\n`;
  const isNamed = isIdSource && dialect === "rest-client";
  const script = dialect === "jetbrains" ? scriptOf(request) : "";
  return `### ${tag}: ${name}\n${isNamed ? `# @name ${id}\n` : ""}${method} {{url}}${fill(path)}${sentQuery(request.query)}\n${headerLines(request)}${body}${script}`;
}

function headerLines({ path, headers, body }: ExampleRequest): string {
  const type = path.endsWith(".xml") ? "application/xml" : "application/json";
  const all = { "X-API-AUTH": "{{key}}", ...headers, ...(body === undefined ? {} : { "Content-Type": type }) };
  return Object.entries(all)
    .map(([header, value]) => `${header}: ${value}\n`)
    .join("");
}

/** Returns this dialect's placeholder for a record's ID. */
function idOf({ variable, idSource }: ExampleRequest, dialect: HttpDialect): string {
  if (dialect === "jetbrains" || !idSource) return `{{${variable}}}`;
  return `{{${idSource.id}.response.body.${idPath(idSource)}}}`;
}

/** Returns where to find the ID in the response, as JSONPath, or XPath for XML. */
function idPath({ kind, element }: IdSource): string {
  if (kind === "run") return element === undefined ? "$.Run" : `//${element}/@Run`;
  if (element !== undefined) return `//${element}/@ID`;
  return kind === "record" ? "$.ID" : "$[0].ID";
}

/** Returns an expression for a response's run. JetBrains IDEs give an XML body as a document, httpYac as text. */
function runIn(path: string): string {
  const run = path.endsWith(".xml")
    ? `response.body.documentElement?.getAttribute("Run") ?? / Run="([^"]+)"/.exec(response.body)?.[1]`
    : "response.body.Run";
  return `(response.status < 300 && (${run})) || ""`;
}

/**
 * Returns a script that remembers a batch's run or a record's ID (from a create's Location, or of a list's first record), and forgets it after a delete. If no
 * ID comes back, it forgets the previous one, so that no later request changes the wrong record. Other requests need no script, and neither does an XML list,
 * because the JSON list before it has set the variable.
 */
function scriptOf(request: ExampleRequest): string {
  const { method, path, variable, isIdSource } = request;
  const set = (value: string) => `client.global.set("${variable}", ${value});`;
  const written = (code: string) => `\n> {% ${code} %}\n`;
  if (endsId(request)) return written(`if (response.status < 300) ${set('""')}`);
  if (isIdSource && idNameOf(request) === "Run") return written(set(runIn(path)));
  if (!isIdSource || (method === "GET" && path.endsWith(".xml"))) return "";
  if (method === "GET") {
    return written(set('response.status < 300 && response.body.length > 0 ? response.body[0].ID : ""'));
  }
  return written(set('response.status < 300 ? response.headers.valueOf("Location").match(/(\\d+)\\.\\w+$/)[1] : ""'));
}
