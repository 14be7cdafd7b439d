import { text } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";
import { address, telephone } from "./contact.ts";

/** Manufacturers of catalog items (interface 2.1). */
export const brand = defineResource({
  name: "brand",
  path: "brands",
  element: "Brand",
  singular: "brand",
  plural: "brands",
  description: "A manufacturer. Catalog items can be assigned to it, for shopping and reporting.",
  access: "written",
  fields: {
    Name: text({ max: 255, required: true, description: "Name of the brand. Need not be unique.", example: "Acme" }),
    AccountNumber: text({ max: 64, description: "Account number of the brand.", example: "ACC-001" }),
    Telephone: telephone,
    Address: address,
  },
});
