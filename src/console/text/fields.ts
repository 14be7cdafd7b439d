// Labels, values, rules and differences of a record's fields, which are named by dotted paths such as `Address.Town`.

import type { FieldErrorInfo, RecordValues } from "../../admin/api/record-types.ts";
import type { FaultInfo, FieldInfo } from "../../admin/api/types.ts";
import { type TextKey, toSentence, translate } from "./translate.ts";

/** Returns a field's label without its group: `Address line 1` for `Address.AddressLine1`. */
export function labelOf(path: string): string {
  const name = path.slice(path.lastIndexOf(".") + 1);
  const words = name
    .replace(/name$/, "Name")
    .replace(/(?<=[a-z])(?=[A-Z0-9])/g, " ")
    .split(" ");
  return words.map((word, index) => (index === 0 ? word : word.toLowerCase())).join(" ");
}

/**
 * Returns a field's label for places that don't show its group: `Telephone (daytime)`, but just `Town`, because everyone knows that's part of an
 * address.
 */
export function fullLabelOf(path: string): string {
  const group = groupOf(path);
  return ["", "Address"].includes(group) ? labelOf(path) : `${labelOf(group)} (${labelOf(path).toLowerCase()})`;
}

/** Returns the label of the field's group, or an empty string if it has none. */
export function groupOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

/** Returns a field's value, or an empty string if the record doesn't have it. */
export function textAt(record: object, path: string): string {
  const value = path.split(".").reduce<unknown>((values, name) => Object(values)[name], record);
  return typeof value === "string" ? value : "";
}

interface FieldValues {
  readonly path: string;
  /** An empty string if there is no value. */
  readonly before: string;
  readonly after: string;
}

/** Returns the fields that differ between two states of a record. */
export function differences(before: RecordValues | null, after: RecordValues | null): readonly FieldValues[] {
  return fieldsOf(before, after).filter((field) => field.before !== field.after);
}

/** Returns the fields of two states of a record, each with both values, but without the ID. */
export function fieldsOf(before: RecordValues | null, after: RecordValues | null): readonly FieldValues[] {
  const [old, now] = [flat(before ?? {}), flat(after ?? {})];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path) => ({ path, before: old.get(path) ?? "", after: now.get(path) ?? "" }))
    .filter((field) => field.path !== "ID" && (field.before !== "" || field.after !== ""));
}

function flat(values: RecordValues, above = ""): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "object") for (const [path, text] of flat(value, `${above}${name}.`)) texts.set(path, text);
    else texts.set(above + name, String(value));
  }
  return texts;
}

/** Converts texts by path to a record's values: `Address.Town` becomes `Town` in `Address`. */
export function toValues(texts: Iterable<readonly [path: string, text: string]>): RecordValues {
  const values: Record<string, unknown> = {};
  for (const [path, text] of texts) {
    const names = path.split(".");
    let within = values;
    for (const name of names.slice(0, -1)) {
      within[name] ??= {};
      within = within[name] as Record<string, unknown>;
    }
    within[names.at(-1) as string] = text;
  }
  return values as RecordValues;
}

/** Returns what's wrong with a field's text, or undefined. The server checks again, with all other rules. */
export function faultOf({ required: isRequired, max, pattern }: FieldInfo, text: string): string | undefined {
  if (isRequired && text === "") return translate("record.required");
  if ([...text].length > max) return translate("record.too_long", { max });
  if (pattern && !new RegExp(pattern.source, "u").test(text)) return describeFault(pattern.fault);
  return undefined;
}

/** The console's wording for error codes. Other codes keep the server's wording. */
const faultTexts: { readonly [code in string]?: TextKey } = {
  required: "record.required",
  "too-long": "record.too_long",
  "invalid-email": "record.invalid_email",
};

/** Returns why the server rejected a value, worded for next to the field. */
export function describeFault({ code, detail, max = 0 }: FaultInfo): string {
  const key = faultTexts[code];
  return key ? translate(key, { max }) : toSentence(detail);
}

/** Fields of keys, webhooks and sites that forms label differently. */
const formLabels: { readonly [field in string]?: TextKey } = {
  Label: "keys.label",
  Rate: "keys.rate",
  Expires: "keys.expires",
  Hostnames: "sites.hostnames",
};

/** Returns why the server rejected a value, along with the field's label. */
export function describeFieldError({ field, ...fault }: FieldErrorInfo): string {
  const label = formLabels[field];
  const name = label ? translate(label) : field && fullLabelOf(field);
  return `${name && `${name}: `}${describeFault(fault)}`;
}
