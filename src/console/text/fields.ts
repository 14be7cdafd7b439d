// The fields of a record, by their dotted paths, such as `Address.Town`: labels for people, values, rules, and the differences of two states.

import type { FieldErrorInfo, RecordValues } from "../../admin/api/record-types.ts";
import type { FaultInfo, FieldInfo } from "../../admin/api/types.ts";
import { type TextKey, toSentence, translate } from "./translate.ts";

/** Returns a field's name for people, without its group: `Address line 1` for `Address.AddressLine1`. */
export function labelOf(path: string): string {
  const name = path.slice(path.lastIndexOf(".") + 1);
  const words = name
    .replace(/name$/, "Name")
    .replace(/(?<=[a-z])(?=[A-Z0-9])/g, " ")
    .split(" ");
  return words.map((word, index) => (index === 0 ? word : word.toLowerCase())).join(" ");
}

/** Returns the name of a field where its group is not shown: `Telephone (daytime)`, but `Town`, because everyone knows that it belongs to an address. */
export function fullLabelOf(path: string): string {
  const group = groupOf(path);
  return ["", "Address"].includes(group) ? labelOf(path) : `${labelOf(group)} (${labelOf(path).toLowerCase()})`;
}

/** Returns the name of the group that contains a field; the empty text for a field without a group. */
export function groupOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

/** Returns the value of a field; the empty text if the record does not have it. @param path the dotted path of the field */
export function textAt(record: object, path: string): string {
  const value = path.split(".").reduce<unknown>((values, name) => Object(values)[name], record);
  return typeof value === "string" ? value : "";
}

interface FieldValues {
  /** The dotted path. */
  readonly path: string;
  /** The empty text for a missing value. */
  readonly before: string;
  readonly after: string;
}

/** Returns the fields that differ between two states of a record, by their dotted paths. */
export function differences(before: RecordValues | null, after: RecordValues | null): readonly FieldValues[] {
  return fieldsOf(before, after).filter((field) => field.before !== field.after);
}

/** Returns the fields that two states of a record have, apart from the ID, each with its value in both. */
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

/** Converts texts by path to the values of a record: `Address.Town` becomes `Town` in `Address`. */
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

/** Returns why a text is refused in a field; undefined if it is good. The server checks it again, with all other rules. */
export function faultOf({ required: isRequired, max, pattern }: FieldInfo, text: string): string | undefined {
  if (isRequired && text === "") return translate("record.required");
  if ([...text].length > max) return translate("record.too_long", { max });
  if (pattern && !new RegExp(pattern.source, "u").test(text)) return describeFault(pattern.fault);
  return undefined;
}

/** The texts of the console for codes of faults. Other codes keep the text of the server. */
const faultTexts: { readonly [code in string]?: TextKey } = {
  required: "record.required",
  "too-long": "record.too_long",
  "invalid-country": "record.invalid_country",
  "invalid-email": "record.invalid_email",
};

/** Returns why the server refused a value, for the field's own place in a form or table. */
export function describeFault({ code, detail, max = 0 }: FaultInfo): string {
  const key = faultTexts[code];
  return key ? translate(key, { max }) : toSentence(detail);
}

/** The fields of keys, webhooks and sites that forms call something else. */
const formLabels: { readonly [field in string]?: TextKey } = {
  Label: "keys.label",
  Rate: "keys.rate",
  Expires: "keys.expires",
  Hostnames: "sites.hostnames",
};

/** Returns why the server refused a value, with the name that the field has in forms. */
export function describeFieldError({ field, ...fault }: FieldErrorInfo): string {
  const label = formLabels[field];
  const name = label ? translate(label) : field && fullLabelOf(field);
  return `${name && `${name}: `}${describeFault(fault)}`;
}
