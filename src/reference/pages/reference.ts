// Renders the reference at /docs from the OpenAPI document.

import { escapeHtml } from "../../lib/text.ts";
import type { Schema } from "../json-schema.ts";
import { createsName } from "../openapi/batch.ts";
import {
  type Content,
  type DocumentedParameter,
  exampleOf,
  type OpenapiDocument,
  type OperationPair,
  operationPairs,
  resolve,
} from "../openapi/document-reader.ts";
import { keyBox, writeWarning } from "./key-box.ts";
import { forms, keyScript, type LinkGroup, toAnchor, toPage } from "./layout.ts";
import { codeBlock, formatChoice, languageChoice, renderMarkdown, renderSentence } from "./markdown.ts";

interface ReferenceGroup {
  readonly tag: string;
  readonly description: string;
  readonly main: readonly OperationPair[];
  /** Other forms of these operations, for clients that can't use the main one. */
  readonly secondary: readonly OperationPair[];
}

export function referencePage(openapi: Schema): string {
  const document = openapi as OpenapiDocument;
  const groups = [...operationPairs(document)].map(([tag, pairs]) => toGroup(document, tag, pairs));
  const introduction = renderMarkdown(document.info.description);
  const sections = groups.map((group) => groupSection(document, group));
  const content = `<h1>Reference</h1>
${introduction.html}
<p>Machine-readable: OpenAPI <a href="/openapi.json">3.1</a> (<a href="/openapi.yaml">YAML</a>, <a href="/openapi.json?format=json">JSON operations only</a>) or <a href="/openapi.json?openapi=3.0">3.0</a>, including <a href="/docs/webhooks">webhooks</a>.</p>
${keyBox}
${sections.join("\n")}
${otherForms(document, groups)}`;
  return toPage({
    title: "Reference",
    content,
    path: "/docs",
    section: "/docs",
    side: [...groups.map(toLinks), { title: "More", links: [{ path: "#other-forms", title: "Other forms" }] }],
    extraScripts: [keyScript.path, forms.path],
  });
}

function toGroup(document: OpenapiDocument, tag: string, pairs: readonly OperationPair[]): ReferenceGroup {
  const description = document.tags.find(({ name }) => name === tag)?.description ?? "";
  const isSecondary = ({ operation }: OperationPair) => operation["x-secondary"] === true;
  const main = pairs.filter((pair) => !isSecondary(pair)).sort((a, b) => rank(a) - rank(b));
  return { tag, description, main, secondary: pairs.filter(isSecondary) };
}

/** Sorts reads before writes, and lists before records. */
function rank({ method, operation: { parameters = [] } }: OperationPair): number {
  const hasId = parameters.some(({ $ref }) => String($ref).endsWith("/id"));
  return ["get", "post", "put", "patch", "delete"].indexOf(method) + (method === "get" && hasId ? 0.5 : 0);
}

function groupSection(document: OpenapiDocument, { tag, description, main }: ReferenceGroup): string {
  const sent = sentDocumentOf(document, main);
  const record = recordOf(document, main);
  const fields = [
    sent && fieldDetails(document, "Fields of the body", sent),
    record && fieldDetails(document, sent ? "Fields of the response" : "Fields", record),
  ].filter((text) => text !== undefined);
  const operations = operationSections(document, main);
  return `<h2 id="${toAnchor(tag)}">${escapeHtml(tag)}</h2>
<p>${escapeHtml(description)}</p>
${fields.join("\n")}
${operations}`;
}

function fieldDetails(document: OpenapiDocument, summary: string, schema: Schema): string {
  return `<details open><summary>${summary}</summary>${fieldList(document, schema)}</details>`;
}

function operationSections(document: OpenapiDocument, pairs: readonly OperationPair[]): string {
  return pairs.map((pair) => operationSection(document, pair)).join("\n");
}

/** Returns the schema of the records that the first operation returns; undefined if it returns no object. */
function recordOf(document: OpenapiDocument, pairs: readonly OperationPair[]): Schema | undefined {
  const response = resolve<{ content?: Record<string, { schema: Schema }> }>(
    document,
    pairs[0]?.operation.responses[200] ?? {},
  );
  const [media] = Object.values(response.content ?? {});
  if (!media) return undefined;
  const schema = resolve(document, media.schema);
  const record = schema.type === "array" ? resolve(document, schema.items as Schema) : schema;
  return record.properties ? record : undefined;
}

/** Returns the schema of the first operation's body; undefined if it's a read. */
function sentDocumentOf(document: OpenapiDocument, pairs: readonly OperationPair[]): Schema | undefined {
  const [first] = pairs;
  if (!first || first.method === "get") return undefined;
  const [media] = Object.values(first.operation.requestBody?.content ?? {});
  return media && resolve(document, media.schema);
}

/** For the few clients that have to pass the ID in another way, or can only send GET and POST. */
function otherForms(document: OpenapiDocument, groups: readonly ReferenceGroup[]): string {
  const withOthers = groups.filter(({ secondary }) => secondary.length > 0);
  const parts = withOthers.map(({ tag, secondary }) => {
    const summary = `${escapeHtml(tag)}: ${secondary.length} other forms`;
    return `<details><summary>${summary}</summary>${operationSections(document, secondary)}</details>`;
  });
  return `<h2 id="other-forms">Other forms</h2>
<p>The same operations with the record ID in the body or query, or sent as POST by clients that can only use GET and POST. Every path also supports <code>HEAD</code>, which is GET without the body, and <code>OPTIONS</code>, which lists its methods.</p>
${parts.join("\n")}`;
}

function toLinks({ tag, main }: ReferenceGroup): LinkGroup {
  return {
    title: tag,
    links: main.map(({ operation }) => ({ path: `#${operation.operationId}`, title: escapeHtml(operation.summary) })),
  };
}

// An operation on the reference page: its request, its responses, and a form to send it.

/** An operation in all its formats. */
function operationSection(document: OpenapiDocument, pair: OperationPair): string {
  const { operation, method, formats } = pair;
  const id = operation.operationId;
  const parameters = (operation.parameters ?? []).map((one) => resolve<DocumentedParameter>(document, one));
  const paths = Object.entries(formats).map(
    ([name, { path }]) => `<span class="in-${name}">${escapeHtml(path)}</span>`,
  );
  return `<section class="operation" id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title">${escapeHtml(operation.summary)} <a class="anchor" href="#${id}" aria-label="Link to this operation">#</a></h3>
<p class="path"><span class="method ${method}">${method.toUpperCase()}</span>${paths.join("")}</p>
<div class="told">
<p>${renderSentence(operation.description)}</p>
${parameters.length > 0 ? `<h4>Parameters</h4>\n${parameterList(parameters)}` : ""}
${otherResponses(document, pair)}
${tryForm(pair, parameters)}
</div>
<div class="shown">
${formatChoice()}
${requestCode}
${bodyPart(pair)}
${successPart(document, pair)}
</div>
</section>`;
}

/** `assets/try.js` shows the request of the operation's form here, in the reader's language. */
const requestCode = `<div class="tabs js">${languageChoice(["sh", "js", "python", "php"])}<div class="code"><div class="bar"><span>Request</span><button type="button" class="copy">Copy</button></div><pre tabindex="0" role="group" aria-label="The request as code"><code class="line"></code></pre></div></div>`;

/** The request has one example of a body, so this is for bodies with several. */
function bodyPart({ formats, operation }: OperationPair): string {
  const [media] = Object.values(operation.requestBody?.content ?? {});
  if (!media?.examples) return "";
  const blocks = Object.entries(formats).map(([name, one]) =>
    exampleBlock(name, one.operation.requestBody?.content, "Body"),
  );
  return `<h4>Body with each method</h4>\n${blocks.join("")}`;
}

/** Shows the last 2xx response, because 201 tells readers more than 200. */
function successPart(document: OpenapiDocument, { formats, operation }: OperationPair): string {
  const status = successOf(operation.responses);
  const [{ description = "" } = {}] = Object.values(formats).map((one) => responseOf(document, one.operation, status));
  const blocks = Object.entries(formats).map(([name, one]) =>
    exampleBlock(name, responseOf(document, one.operation, status).content, `${status}`),
  );
  return `<h4>Response ${status}</h4>\n<p>${renderSentence(description)}</p>\n${blocks.join("")}`;
}

function otherResponses(document: OpenapiDocument, { operation }: OperationPair): string {
  const others = Object.keys(operation.responses).filter((status) => status !== successOf(operation.responses));
  const items = others.map((status) => {
    const { description } = responseOf(document, operation, status);
    return `<li><b>${status}</b> ${renderSentence(description)}</li>`;
  });
  return `<details><summary>Other responses</summary><ul class="fields">${items.join("")}</ul></details>`;
}

interface DocumentedResponse {
  readonly description: string;
  readonly content?: Content;
}

function responseOf(
  document: OpenapiDocument,
  { responses }: { readonly responses: Readonly<Record<string, Schema>> },
  status: string,
): DocumentedResponse {
  return resolve<DocumentedResponse>(document, responses[status] ?? {});
}

function successOf(responses: Readonly<Record<string, Schema>>): string {
  return Object.keys(responses).findLast((status) => status.startsWith("2")) ?? "200";
}

function exampleBlock(format: string, content: Content | undefined, label: string): string {
  const example = exampleOf(content);
  if (example === undefined) return "";
  return codeBlock({ text: example, language: format, label: `${label} · ${format.toUpperCase()}` }, `in-${format}`);
}

// The fields of a record and the parameters of an operation, as lists.

/** Lists an object's fields. Those of nested objects have dotted names. */
function fieldList(document: OpenapiDocument, schema: Schema): string {
  const items = fieldsOf(document, schema, "").map(({ name, schema: field, isRequired }) =>
    item(name, [typeOf(field), isRequired && "required"], String(field.description ?? "")),
  );
  return `<ul class="fields">${items.join("")}</ul>`;
}

function parameterList(parameters: readonly DocumentedParameter[]): string {
  const items = parameters.map((parameter) =>
    item(
      typedForm(parameter),
      [parameter.in, typeOf(parameter.schema), parameter.required && "required"],
      parameter.description,
    ),
  );
  return `<ul class="fields">${items.join("")}</ul>`;
}

/** A parameter as you'd write it: its name or, if it has members, its example, such as `filter[Name][contains]=acm`. */
function typedForm({ name, style, example }: DocumentedParameter): string {
  if (style !== "deepObject") return name;
  const [path, value] = firstTextField(example);
  return `${name}${path.map((key) => `[${key}]`).join("")}=${value}`;
}

interface DocumentedField {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** How deep to list nested objects, because schemas may contain themselves. */
const maxDepth = 4;

function fieldsOf(document: OpenapiDocument, schema: Schema, prefix: string, depth = 1): DocumentedField[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] };
  return Object.entries(properties).flatMap(([name, reference]) => {
    const field = resolve(document, reference);
    const items = field.type === "array" ? toOne(document, resolve(document, field.items as Schema)) : undefined;
    const inner = items ?? field;
    const path = prefix + name;
    // An object with its own description next to the reference is described elsewhere.
    const isDescribed = reference.$ref !== undefined && reference.description !== undefined;
    if (inner.properties && !isDescribed && depth < maxDepth)
      return fieldsOf(document, inner, `${path}${items ? "[]" : ""}.`, depth + 1);
    const isRequired = required.includes(name) && Number(field.minLength) > 0;
    return [{ name: path, schema: isDescribed ? { ...field, description: reference.description } : field, isRequired }];
  });
}

/** Merges the alternatives of a `oneOf` into one object, joining each field's values and descriptions. */
function toOne(document: OpenapiDocument, schema: Schema): Schema {
  if (!Array.isArray(schema.oneOf)) return schema;
  const objects = (schema.oneOf as Schema[]).map(
    (one) => (resolve(document, one).properties ?? {}) as Record<string, Schema>,
  );
  const names = [...new Set(objects.flatMap((object) => Object.keys(object)))];
  const properties = names.map((name) => {
    const fields = objects.map((object) => object[name]).filter((field) => field !== undefined);
    const values = fields.flatMap((field) => (field.enum as readonly unknown[]) ?? []);
    const descriptions = new Set(fields.map((field) => field.description));
    return [
      name,
      {
        ...fields[0],
        ...(values.length > 0 ? { enum: [...new Set(values)] } : {}),
        description: [...descriptions].join(" "),
      },
    ];
  });
  return { properties: Object.fromEntries(properties) };
}

function item(name: string, facts: readonly (string | false | undefined)[], description: string): string {
  const known = facts.filter(Boolean).map((fact) => escapeHtml(String(fact)));
  return `<li><b>${escapeHtml(name)}</b> <span class="quiet">${known.join(" · ")}</span><p>${renderSentence(description)}</p></li>`;
}

/** Only parameters that take field names have more values, which aren't listed. */
const maxListedValues = 7;

function isFieldName({ enum: values }: Schema): boolean {
  return Array.isArray(values) && values.length > maxListedValues;
}

/** Describes a schema in a few words. */
function typeOf(schema: Schema): string {
  const { type, enum: values, minimum, maximum, maxLength, items } = schema;
  if (isFieldName(schema)) return "field";
  if (Array.isArray(values)) return values.join(", ");
  if (type === "array")
    return isFieldName(items as Schema) ? "list of fields" : `list of ${typeOf(items as Schema) || "values"}`;
  if (type === "object") return "";
  if (type === "integer") return `integer${rangeOf(Number(minimum), Number(maximum))}`;
  const types = Array.isArray(type) ? type.join(" or ") : type;
  return [types, maxLength !== undefined && `at most ${maxLength} characters`].filter(Boolean).join(", ");
}

function rangeOf(minimum: number, maximum: number): string {
  if (maximum < Number.MAX_SAFE_INTEGER) return `, ${minimum} to ${maximum}`;
  return Number.isNaN(minimum) ? "" : `, from ${minimum}`;
}

function firstTextField(value: unknown, path: readonly string[] = []): [readonly string[], string] {
  if (typeof value !== "object" || value === null) return [path, String(value ?? "")];
  const [[key, inner] = ["", ""]] = Object.entries(value);
  return firstTextField(inner, [...path, key]);
}

// An operation's form. `assets/try.js` makes a request from it. Without scripts, it isn't shown.
function tryForm({ method, formats, operation }: OperationPair, parameters: readonly DocumentedParameter[]): string {
  const id = operation.operationId;
  const isWriting = method !== "get";
  const hasIdInPath = parameters.some(isIdInPath);
  const paths = Object.entries(formats).map(([name, { path }]) => ` data-${name}="${escapeHtml(path)}"`);
  const bodies = Object.entries(formats).map(([name, one]) => {
    const example = exampleOf(one.operation.requestBody?.content, createsName);
    return bodyField(id, name, isWriting ? withoutId(example, hasIdInPath) : example);
  });
  return `<details class="try"><summary>Try it</summary>
<form data-method="${method.toUpperCase()}"${paths.join("")}>
<div class="grid">${parameters.map((parameter) => inputFor(id, parameter, !(isWriting && isIdInPath(parameter)))).join("")}</div>
${bodies.join("")}
${isWriting ? `${writeWarning}<p class="dry quiet">With <code>dryRun</code>, nothing is stored.</p>` : ""}<button type="submit" class="send">Send</button>
<div class="result" role="status"></div>
</form></details>`;
}

function isIdInPath({ name, in: place }: DocumentedParameter): boolean {
  return name === "id" && place === "path";
}

/**
 * Removes the ID from an example body, so that readers don't change a record they didn't choose.
 * @param hasIdInPath whether the ID is in the path. Otherwise, the body keeps an empty `ID`
 */
function withoutId(example: string | undefined, hasIdInPath: boolean): string | undefined {
  return example
    ?.replace(/"ID": 1(,\s*)?/, (_, comma = "") => (hasIdInPath ? "" : `"ID": null${comma}`))
    .replace(/ ID="1"/, hasIdInPath ? "" : ' ID=""');
}

/** @param isFilledIn whether a required parameter starts with its example */
function inputFor(operation: string, parameter: DocumentedParameter, isFilledIn: boolean): string {
  const { name, in: place, required, style, schema } = parameter;
  const id = `${operation}-${name}`;
  if (String(schema.enum) === "0,1") {
    const isOn = schema.default === "1" || onAtFirst.has(id);
    return `<div class="switch"><input type="checkbox" role="switch" id="${id}" name="${name}" data-in="${place}" data-default="${schema.default}"${isOn ? " checked" : ""}><label for="${id}">${name}</label></div>`;
  }
  const typed = typedForm(parameter);
  const [label, kind] = style === "deepObject" ? [name, "typed"] : [name, place];
  const hint = typed === name ? "" : ` placeholder="${escapeHtml(typed)}"`;
  const filledIn = isFilledIn && required ? exampleValue(parameter) : undefined;
  const value = filledIn === undefined ? "" : ` value="${escapeHtml(String(filledIn))}"`;
  return `<div><label for="${id}">${escapeHtml(label)}</label><input id="${id}" name="${escapeHtml(name)}" data-in="${kind}"${hint}${value}${required ? " required" : ""} autocomplete="off" spellcheck="false"></div>`;
}

/** The switches that are on at first, so that the first attempt to change many records stores nothing. */
const onAtFirst: ReadonlySet<string> = new Set(["sendBatch-dryRun", "undoRun-dryRun"]);

function exampleValue({ example, schema }: DocumentedParameter): unknown {
  return example ?? (schema.enum as readonly unknown[] | undefined)?.[0] ?? "";
}

function bodyField(operation: string, format: string, example: string | undefined): string {
  if (example === undefined) return "";
  const id = `${operation}-body-${format}`;
  return `<div class="in-${format}"><label for="${id}">Body in ${format.toUpperCase()}</label><textarea id="${id}" data-body="${format}" spellcheck="false">${escapeHtml(example)}</textarea></div>`;
}
