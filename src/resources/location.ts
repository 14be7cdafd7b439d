import { matching, text } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";
import { address, telephone } from "./contact.ts";

/** Store locations, maintained by the operator and read by clients (interface 2.3). */
export const location = defineResource({
  name: "location",
  path: "locations",
  element: "Location",
  singular: "location",
  plural: "locations",
  description: "A place where the shop sells. The operator maintains it; clients read it.",
  access: "read",
  fields: {
    Code: text({ max: 64, description: "The operator's own code for the place.", example: "NCL-01" }),
    Name: text({ max: 255, required: true, description: "Name of the place.", example: "Newcastle High Street" }),
    Manager: text({ max: 128, description: "Who runs the place.", example: "Ada Smith" }),
    Email: matching("^(?:[^\\s@<>,;]+@[^\\s@<>,;]+)?$", "must be empty or an e-mail address", {
      max: 254,
      description: "E-mail address of the place.",
      example: "newcastle@shop.example",
    }),
    Telephone: telephone,
    Address: address,
  },
});
