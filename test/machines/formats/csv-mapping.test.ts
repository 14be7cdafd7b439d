// Rejected mappings and their messages.

import { expect, test } from "bun:test";
import { parseMapping, planMapping } from "../../../src/formats/csv-mapping.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import { brand } from "../../../src/resources/brand.ts";

/** Returns the errors of a mapping, one line each. */
function faultsOf(text: string): string[] {
  try {
    parseMapping(brand, text);
    return [];
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return error.fieldErrors.length > 0
      ? error.fieldErrors.map(({ field, detail }) => `${field}: ${detail}`)
      : [error.message];
  }
}

const source = (member: unknown) => JSON.stringify({ fields: { "Address.Country": member } });
const country = "fields.Address.Country";
const notCountry = "use a country code of 2 or 3 letters, such as GB";
const cases: [string, string, string[]][] = [
  ["a list", "[]", [": send an object, not an empty array; send `{}`"]],
  ["no fields", "{}", ["fields: a value is required"]],
  ["fields that are a list", '{"fields": ["Name"]}', ["fields: send an object, not an array"]],
  ["no field", '{"fields": {}}', ['fields: a value is required, such as `{"Name": "Brand name"}`']],
  [
    "a misspelt member",
    '{"feilds": {"Name": "A"}}',
    ["feilds: unknown field; did you mean `fields`?", "fields: a value is required"],
  ],
  [
    "fields without `fields` around them",
    '{"Name": "A"}',
    ["Name: unknown field; use fields or skip", "fields: a value is required"],
  ],
  [
    "an unknown field",
    '{"fields": {"Nmae": "A", "Town": "B", "Qwertyuiop": "C"}}',
    [
      "fields.Nmae: unknown field; did you mean `Name`?",
      "fields.Town: unknown field; did you mean `Address.Town`?",
      "fields.Qwertyuiop: unknown field",
    ],
  ],
  ["a field twice", '{"fields": {"Name": "A", "Name": "B"}}', [expect.stringContaining("Name") as unknown as string]],
  ["a group", '{"fields": {"Address": {"Town": "City"}}}', [expect.stringMatching(/^fields.Address: unknown field/)]],
  ["a number for a column", source(3), [`${country}: send an object, not a number; or send the name of a column`]],
  ["null for a column", source(null), [`${country}: send an object, not null; or send the name of a column`]],
  ["neither column nor constant", source({}), [`${country}: add \`column\` or \`constant\``]],
  [
    "both column and constant",
    source({ column: "Land", constant: "GB" }),
    [`${country}: use either \`column\` or \`constant\`, not both`],
  ],
  [
    "a lookup without a column",
    source({ constant: "GB", lookup: {} }),
    [`${country}: add the \`column\` for \`lookup\``],
  ],
  [
    "otherwise without a lookup",
    source({ column: "Land", otherwise: "GB" }),
    [`${country}: \`otherwise\` only works with \`lookup\`; add one`],
  ],
  [
    "keep without a lookup",
    source({ column: "Land", keep: true }),
    [`${country}: \`keep\` only works with \`lookup\`; add one`],
  ],
  [
    "both otherwise and keep",
    source({ column: "Land", lookup: {}, otherwise: "GB", keep: true }),
    [`${country}: use either \`otherwise\` or \`keep\`, not both`],
  ],
  [
    "keep that isn't a boolean",
    source({ column: "Land", lookup: {}, keep: "GB" }),
    [`${country}.keep: send true or false, not a string`],
  ],
  [
    "a misspelt member of a field",
    source({ colum: "Land" }),
    [`${country}.colum: unknown field; did you mean \`column\`?`, `${country}: add \`column\` or \`constant\``],
  ],
  [
    "members of the wrong type",
    source({ column: 3, lookup: [], otherwise: true }),
    [
      `${country}.column: send a string, not a number`,
      `${country}.otherwise: send a string, not a boolean`,
      `${country}.lookup: send an object, not an empty array; send \`{}\``,
    ],
  ],
  ["a constant that the field rejects", source({ constant: "N-O" }), [`${country}.constant: ${notCountry}`]],
  [
    "values of a lookup that the field rejects",
    source({ column: "Land", lookup: { Norge: "N-O", Sverige: 7, Danmark: "DK" }, otherwise: "?" }),
    [
      `${country}.otherwise: ${notCountry}`,
      `${country}.lookup.Norge: ${notCountry}`,
      `${country}.lookup.Sverige: send a string, not a number`,
    ],
  ],
  [
    "an invalid ID",
    '{"fields": {"ID": {"constant": "x"}}}',
    ['fields.ID.constant: use a whole number, 1 or more, not "x"'],
  ],
  [
    "a skip that is not a list",
    '{"fields": {"Name": "A"}, "skip": {"A": ""}}',
    ['skip.A: send an array of strings, such as ["", "n/a"]'],
  ],
  [
    "a name of the prototype",
    '{"fields": {"__proto__": "A", "constructor": "B"}}',
    ["fields.__proto__: unknown field", "fields.constructor: unknown field"],
  ],
  ["not JSON", "Name = A", [expect.stringMatching(/expected a value, not `N`/) as unknown as string]],
];
test.each(cases)("a mapping with %s is rejected", (_, text, faults) => {
  expect(faultsOf(text)).toEqual(faults);
});

test("very many errors: the first 100 are listed, quickly", () => {
  const fields = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`Field ${n}`, n]));
  expect(faultsOf(JSON.stringify({ fields }))).toHaveLength(100);
  const lookup = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`Land ${n}`, n]));
  expect(faultsOf(source({ column: "Land", lookup }))).toHaveLength(100);
});

test("long names: shortened in messages", () => {
  const name = "x".repeat(100_000);
  const texts = [
    { [name]: 1 },
    { fields: { [name]: 1 } },
    { fields: { Name: { [name]: 1 } } },
    { fields: {}, skip: { [name]: 1 } },
  ];
  const lookup = { fields: { Name: { column: "A", lookup: { [name]: 1 } } } };
  for (const text of [...texts, lookup])
    expect(Math.max(...faultsOf(JSON.stringify(text)).map((fault) => fault.length))).toBeLessThan(300);
  const { fieldErrors } = planMapping(parseMapping(brand, JSON.stringify({ fields: { Name: name } })), ["A"]);
  expect(fieldErrors[0]?.detail.length).toBeLessThan(300);
});

test("missing or duplicate columns: reported with the nearest one", () => {
  const mapping = parseMapping(
    brand,
    '{"fields": {"Name": "Vendor", "AccountNumber": "SKU", "ID": "Nr"}, "skip": {"X": [""]}}',
  );
  const { fieldErrors } = planMapping(mapping, ["Vendr", "SKU", "Title", "SKU"]);
  expect(fieldErrors.map(({ field, detail }) => `${field}: ${detail}`)).toEqual([
    "Name: the file has no column `Vendor`; did you mean `Vendr`?",
    "AccountNumber: the file has two columns `SKU`; use their letters, B and D, instead of the name",
    "ID: the file has no column `Nr`; its columns are Vendr, SKU, Title, SKU",
    "skip: the file has no column `X`; its columns are Vendr, SKU, Title, SKU",
  ]);
});
