import { expect, test } from "bun:test";
import { findCountry } from "../../../src/lib/country-names.ts";

test.each([
  ["Germany", "DE"],
  ["GERMANY", "DE"],
  [" Deutschland\n", "DE"],
  ["Allemagne", "DE"],
  ["ドイツ", "DE"],
  ["Großbritannien", "GB"],
  ["GROSSBRITANNIEN", "GB"],
  ["U.K.", "GB"],
  ["England", "GB"],
  ["Osterreich", "AT"],
  ["TÜRKİYE", "TR"],
  ["Turkey", "TR"],
  ["The Netherlands", "NL"],
  ["Korea, Republic of", "KR"],
  ["Iran, Islamic Republic of", "IR"],
  ["Bosnia and Herzegovina", "BA"],
  ["Saint Lucia", "LC"],
  ["Cote d'Ivoire", "CI"],
  ["Kosovo", "XK"],
])("%j is %s", (name, code) => {
  expect(findCountry(name)?.code).toBe(code);
});

test.each([
  "Congo",
  "Kongo",
  "Korea",
  "America",
  "Virgin Islands",
  "Europe",
  "Atlantis",
  "D",
  "",
  "-",
  "\ufdfa".repeat(80),
])("%j isn't clear", (name) => {
  expect(findCountry(name)).toBeUndefined();
});

test("the English name of every country means only that country", () => {
  const names = new Intl.DisplayNames(["en"], { type: "region" });
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const codes = letters.flatMap((one) => letters.map((other) => one + other));
  const found = codes.map((code) => findCountry(names.of(code) ?? "")).filter((country) => country !== undefined);
  expect(new Set(found.map(({ code }) => code)).size).toBe(250);
  for (const { code, name } of found) expect(name).toBe(names.of(code) as string);
});
