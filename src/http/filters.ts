// The filters of a list (contract section 6).

import { nearestPath } from "../lib/nearest.ts";
import { Refusal } from "../model/errors.ts";
import { maxFilters, maxIds } from "../model/list-bounds.ts";
import { toId } from "../model/record.ts";
import { findLeaf, type Leaf, type Resource } from "../model/resource.ts";
import type { RecordFilter } from "../store/memory/record-filter.ts";

/** `filter[Name]` or `filter[Name][contains]`, with any text in the brackets. */
export const filterName = /^filter\[([^\]]*)\](?:\[([^\]]*)\])?$/;

/** @throws Refusal `bad-request` for an unknown field or operator, a bad ID, or too many filters */
export function readFilters(resource: Resource, parameters: URLSearchParams): RecordFilter[] {
  const filters: RecordFilter[] = [];
  for (const [name, value] of parameters) {
    const [, path, operator = "equals"] = filterName.exec(name) ?? [];
    if (path !== undefined) filters.push(readFilter(resource, path, operator, value));
  }
  if (filters.length > maxFilters) {
    throw new Refusal("bad-request", `\`filter\`: at most ${maxFilters} filters, not ${filters.length}`);
  }
  if (filters.filter(({ operator }) => operator === "in").length > 1) {
    throw new Refusal("bad-request", "`filter[ID][in]` appears more than once; write one, with commas between the IDs");
  }
  return filters;
}

/** The leaf at `path`; undefined for the ID. @throws Refusal `bad-request` for an unknown field, or a group of fields */
export function readLeaf(resource: Resource, parameter: string, path: string): Leaf | undefined {
  if (path === "ID") return undefined;
  const leaf = findLeaf(resource, path);
  if (leaf) return leaf;
  const inside = resource.leaves.find((one) => one.path.startsWith(`${path}.`));
  if (inside) {
    const detail = `\`${parameter}\`: \`${path}\` is a group of fields; use one of them, such as \`${inside.path}\``;
    throw new Refusal("bad-request", detail);
  }
  throw unknownField(parameter, path, ["ID", ...resource.leaves.map((known) => known.path)]);
}

/** The refusal of a field that is not among `known`. */
export function unknownField(parameter: string, path: string, known: readonly string[]): Refusal {
  const meant = nearestPath(path, known);
  const hint = meant ? `did you mean \`${meant}\`?` : `there is ${known.join(", ")}`;
  return new Refusal("bad-request", `\`${parameter}\`: no field \`${path.slice(0, 100)}\`; ${hint}`);
}

function readFilter(resource: Resource, path: string, operator: string, value: string): RecordFilter {
  const leaf = readLeaf(resource, "filter", path);
  if (operator === "contains") return { leaf, operator, values: [value] };
  if (operator === "equals") return { leaf, operator, values: [leaf ? value : readId("filter[ID]", value)] };
  if (operator === "in" && !leaf) return { leaf, operator, values: readIds(value) };
  const why = operator === "in" ? "only `ID` has `in`" : `unknown operator \`${operator.slice(0, 40)}\``;
  throw new Refusal(
    "bad-request",
    `\`filter\`: ${why}; ${path} has \`filter[${path}]=\` and \`filter[${path}][contains]=\``,
  );
}

function readIds(list: string): string[] {
  const ids = list.split(",");
  if (ids.length > maxIds) {
    throw new Refusal("bad-request", `\`filter[ID][in]\`: at most ${maxIds} IDs, not ${ids.length}`);
  }
  return ids.map((id) => readId("filter[ID][in]", id));
}

function readId(parameter: string, value: string): string {
  if (toId(value) !== undefined) return value;
  const example = value.includes(",") ? "; for several write `filter[ID][in]=3,5,8`" : "";
  throw new Refusal(
    "bad-request",
    `\`${parameter}\`: an ID is a whole number from 1, not \`${value.slice(0, 40)}\`${example}`,
  );
}
