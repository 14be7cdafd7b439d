// The reference at /docs: a page made from the OpenAPI document.

import type { Steps } from "../../lib/slices.ts";
import type { Schema } from "../json-schema.ts";
import { type OpenapiDocument, type OperationPair, operationPairs, resolve } from "../openapi/reading.ts";
import { forms } from "./assets.ts";
import { fieldList } from "./field-list.ts";
import { escapeHtml, toAnchor } from "./html.ts";
import { type LinkGroup, toPage } from "./layout.ts";
import { renderMarkdown } from "./markdown.ts";
import { operationSection } from "./operation.ts";

interface ReferenceGroup {
  readonly tag: string;
  readonly description: string;
  readonly main: readonly OperationPair[];
  /** Other forms of the same operations. */
  readonly secondary: readonly OperationPair[];
}

export function* referencePage(openapi: Schema): Steps<string> {
  const document = openapi as OpenapiDocument;
  const groups = [...operationPairs(document)].map(([tag, pairs]) => toGroup(document, tag, pairs));
  const introduction = yield* renderMarkdown(document.info.description);
  const sections = yield* allOf(groups, (group) => groupSection(document, group));
  const content = `<h1>Reference</h1>
${introduction.html}
<p>Programs read the same from <a href="/openapi.json">OpenAPI</a>, also <a href="/openapi.json?format=json">without the XML operations</a> or <a href="/openapi.yaml">as YAML</a>.</p>
<div class="key js"><label for="key">API key for the forms on this page</label><input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="Paste your key here"><p class="quiet">The page keeps it until you leave.</p></div>
${sections.join("\n")}
${yield* otherForms(document, groups)}`;
  return toPage({
    title: "Reference",
    content,
    path: "/docs",
    section: "/docs",
    side: [...groups.map(toLinks), { title: "More", links: [{ path: "#other-forms", title: "Other forms" }] }],
    extraScript: forms.path,
  });
}

function toGroup(document: OpenapiDocument, tag: string, pairs: readonly OperationPair[]): ReferenceGroup {
  const description = document.tags.find(({ name }) => name === tag)?.description ?? "";
  const isSecondary = ({ operation }: OperationPair) => operation["x-secondary"] === true;
  const main = pairs.filter((pair) => !isSecondary(pair)).sort((a, b) => rank(a) - rank(b));
  return { tag, description, main, secondary: pairs.filter(isSecondary) };
}

/** Reads before writes, lists before records. */
function rank({ method, operation: { parameters = [] } }: OperationPair): number {
  const hasId = parameters.some(({ $ref }) => String($ref).endsWith("/id"));
  return ["get", "post", "put", "patch", "delete"].indexOf(method) + (method === "get" && hasId ? 0.5 : 0);
}

function* groupSection(document: OpenapiDocument, { tag, description, main }: ReferenceGroup): Steps<string> {
  const record = recordOf(document, main);
  const fields = record ? `<details><summary>Fields</summary>${fieldList(document, record)}</details>` : "";
  yield;
  const operations = yield* operationSections(document, main);
  return `<h2 id="${toAnchor(tag)}">${escapeHtml(tag)}</h2>
<p>${escapeHtml(description)}</p>
${fields}
${operations}`;
}

function* operationSections(document: OpenapiDocument, pairs: readonly OperationPair[]): Steps<string> {
  const sections = yield* allOf(pairs, function* (pair) {
    yield;
    return operationSection(document, pair);
  });
  return sections.join("\n");
}

function* allOf<T>(items: readonly T[], toText: (item: T) => Steps<string>): Steps<string[]> {
  const texts: string[] = [];
  for (const item of items) texts.push(yield* toText(item));
  return texts;
}

/** The schema of what the operations return: of one record, where they return a list. */
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

/** What few clients need: operations that name the record in another way, and those by POST. */
function* otherForms(document: OpenapiDocument, groups: readonly ReferenceGroup[]): Steps<string> {
  const withOthers = groups.filter(({ secondary }) => secondary.length > 0);
  const parts = yield* allOf(withOthers, function* ({ tag, secondary }) {
    const summary = `${escapeHtml(tag)}: ${secondary.length} other forms`;
    return `<details><summary>${summary}</summary>${yield* operationSections(document, secondary)}</details>`;
  });
  return `<h2 id="other-forms">Other forms</h2>
<p>The same operations for clients that name the record in the body or in the query, or that can send only GET and POST. Each path also has <code>HEAD</code>, which is GET without the body, and <code>OPTIONS</code>, which lists its methods.</p>
${parts.join("\n")}`;
}

function toLinks({ tag, main }: ReferenceGroup): LinkGroup {
  return {
    title: tag,
    links: main.map(({ operation }) => ({ path: `#${operation.operationId}`, title: escapeHtml(operation.summary) })),
  };
}
