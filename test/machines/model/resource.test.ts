// A declaration that wouldn't work everywhere is rejected when the program starts.

import { expect, test } from "bun:test";
import { text } from "../../../src/model/field.ts";
import { type Declaration, defineResource } from "../../../src/model/resource.ts";
import { webhook } from "../../../src/resources/webhook.ts";

const field = text({ max: 20, description: "", example: "" });
const declaration = {
  name: "gift-card",
  path: "giftcards",
  element: "GiftCard",
  singular: "gift card",
  plural: "gift cards",
  description: "",
  access: "written",
  fields: { Name: field },
} as const satisfies Declaration;

test.each<[string, Partial<Declaration>, string]>([
  ["a path that a webhook cannot list", { path: "gift-cards" }, "the path gift-cards must have"],
  ["a name that makes no name of a view", { name: "Gift card" }, "a name has lower-case letters"],
  ["a field ID", { fields: { ID: field, Name: field } }, "ID is part of every record"],
])("%s is rejected", (_, part, message) => {
  expect(() => defineResource({ ...declaration, ...part } as typeof declaration)).toThrow(message);
});

test("paths: a webhook can list every accepted one", () => {
  const { path } = defineResource(declaration);
  const resources = webhook.textFields.find(({ path: name }) => name === "Resources");
  expect(`${path} brands`).toMatch(new RegExp(resources?.field.pattern?.source ?? "no pattern"));
});
