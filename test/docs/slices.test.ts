// Documents are made in many short steps, so that the first request for one delays no other client.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Marked } from "marked";
import type { Steps } from "../../src/lib/slices.ts";
import { publicResources } from "../../src/model/resource.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import { type OpenapiDocument, operationPairs } from "../../src/reference/openapi/document-reader.ts";
import { renderMarkdown } from "../../src/reference/pages/markdown.ts";
import { referencePage } from "../../src/reference/pages/reference.ts";
import { allResources } from "../../src/resources/all.ts";
import { resultOf } from "../support/steps.ts";

const document = resultOf(toOpenapi(publicResources(allResources)));

function countOf(steps: Steps<unknown>): number {
  let count = 1;
  while (!steps.next().done) count++;
  return count;
}

test("the reference has a step for each operation", () => {
  const operations = [...operationPairs(document as OpenapiDocument).values()].flat();
  expect(operations.length).toBeGreaterThan(10);
  expect(countOf(referencePage(document))).toBeGreaterThan(operations.length);
});

test("the OpenAPI document has a step for each resource in each format", () => {
  expect(countOf(toOpenapi(publicResources(allResources)))).toBeGreaterThan(2 * publicResources(allResources).length);
});

test("a page has steps for its sections and its blocks", () => {
  const text = readFileSync(join(import.meta.dir, "../../docs/operating/start.md"), "utf8");
  const blocks = new Marked().lexer(text).filter(({ type }) => type !== "space");
  const sections = blocks.filter((block) => block.type === "heading" && block.depth === 2);
  expect(sections.length).toBeGreaterThan(5);
  expect(countOf(renderMarkdown(text))).toBeGreaterThan(sections.length + blocks.length);
});

test("a page is the same as if it were made at once", () => {
  const text = "[a]\n\n## One\n\n```text\n## no heading\n```\n\n## Two\n\n[a]: /docs/x\n";
  const { html, headings } = resultOf(renderMarkdown(text));
  expect(headings.map(({ title }) => title)).toEqual(["One", "Two"]);
  expect(html).toContain("## no heading");
  expect(html).toContain('<a href="/docs/x">a</a>');
});
