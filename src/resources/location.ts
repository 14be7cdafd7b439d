import { fault } from "../model/errors.ts";
import { matching, text } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";
import { address, telephone } from "./contact.ts";

/** Store locations, which the operator maintains and clients read (interface 2.3). */
export const location = defineResource({
  name: "location",
  path: "locations",
  element: "Location",
  singular: "location",
  plural: "locations",
  description: "A store of the shop. The operator maintains it; clients read it.",
  access: "read",
  fields: {
    Code: text({ max: 64, description: "The operator's code for the store.", example: "NCL-01" }),
    Name: text({ max: 255, required: true, description: "Name of the store.", example: "Newcastle High Street" }),
    Manager: text({ max: 128, description: "Name of the store manager.", example: "Ada Smith" }),
    Email: matching("^(?:[^\\s@<>,;]+@[^\\s@<>,;]+)?$", fault("invalid-email"), {
      max: 254,
      description: "E-mail address of the store.",
      example: "newcastle@shop.example",
    }),
    Telephone: telephone,
    Address: address,
  },
});
