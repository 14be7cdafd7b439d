// The form of an operation. `assets/try.js` makes the request from it; without a script it is not shown.

import { type DocumentedParameter, exampleOf, type OperationPair } from "../openapi/reading.ts";
import { typedForm } from "./field-list.ts";
import { escapeHtml } from "./html.ts";

/** @param parameters of the operation */
export function tryForm(
  { method, formats, operation }: OperationPair,
  parameters: readonly DocumentedParameter[],
): string {
  const id = operation.operationId;
  const paths = Object.entries(formats).map(([name, { path }]) => ` data-${name}="${escapeHtml(path)}"`);
  const bodies = Object.entries(formats).map(([name, one]) =>
    bodyField(id, name, exampleOf(one.operation.requestBody?.content)),
  );
  return `<details class="try"><summary>Try it</summary>
<form data-method="${method.toUpperCase()}"${paths.join("")}>
<div class="grid">${parameters.map((parameter) => inputFor(id, parameter)).join("")}</div>
${bodies.join("")}
<div class="code"><div class="bar"><span>curl</span><button type="button" class="copy">Copy</button></div><pre tabindex="0" role="group" aria-label="The request as curl"><code class="language-sh line"></code></pre></div>
<button type="submit" class="send">Send</button>
<div class="result" role="status"></div>
</form></details>`;
}

function inputFor(operation: string, parameter: DocumentedParameter): string {
  const { name, in: place, required, style } = parameter;
  const id = `${operation}-${name}`;
  const typed = typedForm(parameter);
  const [label, kind] = style === "deepObject" ? [name, "typed"] : [name, place];
  const hint = typed === name ? "" : ` placeholder="${escapeHtml(typed)}"`;
  const value = required ? ` value="${escapeHtml(String(exampleValue(parameter)))}" required` : "";
  return `<div><label for="${id}">${escapeHtml(label)}</label><input id="${id}" name="${escapeHtml(name)}" data-in="${kind}"${hint}${value} autocomplete="off" spellcheck="false"></div>`;
}

function exampleValue({ example, schema }: DocumentedParameter): unknown {
  return example ?? (schema.enum as readonly unknown[] | undefined)?.[0] ?? "";
}

function bodyField(operation: string, format: string, example: string | undefined): string {
  if (example === undefined) return "";
  const id = `${operation}-body-${format}`;
  return `<div class="in-${format}"><label for="${id}">Body in ${format.toUpperCase()}</label><textarea id="${id}" data-body="${format}" spellcheck="false">${escapeHtml(example)}</textarea></div>`;
}
