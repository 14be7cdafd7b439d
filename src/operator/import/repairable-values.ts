// Collects text in cells that a mapping could turn into valid values, such as a country's name where a field needs its code.

import { copyText } from "../../lib/bytes.ts";
import type { FaultCode, FieldError } from "../../model/errors.ts";
import { validateText } from "../../model/field.ts";
import { textAt } from "../../model/record.ts";
import { findTextField, type Resource } from "../../model/resource.ts";
import type { NumberedRow } from "./file-rows.ts";

export interface RepairableValues {
  readonly field: string;
  /** The most frequent one comes first. */
  readonly contents: readonly CellContent[];
  /** How many rows have other invalid text; undefined if none. */
  readonly moreRows?: number | undefined;
}

interface CellContent {
  readonly content: string;
  readonly rows: number;
  /** What it probably means, if that's certain. */
  readonly suggestion?: string | undefined;
}

/** Per field. */
const maxContents = 100;
/** In UTF-16 units. Nobody maps longer ones. */
const maxLength = 200;

/** Errors in fields with few values. */
const fewValues: ReadonlySet<string> = new Set<FaultCode>(["invalid-country", "invalid-choice"]);

interface FieldContents {
  readonly contents: Map<string, { rows: number; suggestion: string | undefined }>;
  moreRows: number;
}

export class RepairableValuesCollector {
  readonly #resource: Resource;
  readonly #fields = new Map<string, FieldContents>();

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  /** Call this for each rejected row. */
  add({ decoded: { input }, source }: NumberedRow, fieldErrors: readonly FieldError[]): void {
    // Mappings are only for tables.
    if (!("cells" in source)) return;
    for (const { field, code, suggestion } of fieldErrors) {
      const textField = findTextField(this.#resource, field);
      // `invalid`: the lookup of a mapping doesn't have this text.
      if (!textField || (code !== "invalid" && !fewValues.has(code))) continue;
      const content = textAt(input, textField.keys);
      const found = this.#fields.get(field) ?? { contents: new Map(), moreRows: 0 };
      this.#fields.set(field, found);
      const known = found.contents.get(content);
      if (known) known.rows++;
      else if (found.contents.size === maxContents || content.length > maxLength) found.moreRows++;
      else
        found.contents.set(copyText(content), { rows: 1, suggestion: suggestion ?? suggest(textField.field, content) });
    }
  }

  get values(): readonly RepairableValues[] {
    return [...this.#fields].map(([field, { contents, moreRows }]) => ({
      field,
      contents: [...contents]
        .map(([content, counted]) => ({ content, ...counted }))
        .sort((one, other) => other.rows - one.rows),
      moreRows: moreRows > 0 ? moreRows : undefined,
    }));
  }
}

/** For text that isn't in a mapping's lookup. It may be a valid code already. */
function suggest(field: Parameters<typeof validateText>[0], content: string): string | undefined {
  if (!fewValues.has(field.pattern?.fault.code ?? "") || content === "") return undefined;
  const wrong = validateText(field, content);
  return wrong ? wrong.suggestion : content;
}
