// An operation on the reference page: what to send, what comes back, and a form that sends it.

import type { Schema } from "../json-schema.ts";
import {
  type Content,
  type DocumentedParameter,
  exampleOf,
  type OpenapiDocument,
  type OperationPair,
  resolve,
} from "../openapi/reading.ts";
import { codeBlock, formatChoice } from "./code.ts";
import { parameterList } from "./field-list.ts";
import { escapeHtml } from "./html.ts";
import { renderSentence } from "./markdown.ts";
import { tryForm } from "./try-form.ts";

/** A section about the operation, in all its formats. */
export function operationSection(document: OpenapiDocument, pair: OperationPair): string {
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
</div>
<div class="shown">
${formatChoice()}
${bodyPart(pair)}
${successPart(document, pair)}
</div>
${tryForm(pair, parameters)}
</section>`;
}

function bodyPart({ formats, operation }: OperationPair): string {
  if (!operation.requestBody) return "";
  const title = operation.requestBody.required === false ? "Body, optional" : "Body";
  const blocks = Object.entries(formats).map(([name, one]) =>
    exampleBlock(name, one.operation.requestBody?.content, "Body"),
  );
  return `<h4>${title}</h4>\n${blocks.join("")}`;
}

/** The response to a request that succeeds: the last of the 2xx statuses, since 201 is more telling than 200. */
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
