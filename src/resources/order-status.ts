import { text } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";

/** Labels for orders (interface 2.2). */
export const orderStatus = defineResource({
  name: "order-status",
  path: "orderstatuses",
  element: "OrderStatus",
  singular: "order status",
  plural: "order statuses",
  description: "A label that can be assigned to orders.",
  access: "written",
  fields: {
    Name: text({ max: 255, required: true, description: "Text of the label.", example: "Dispatched" }),
  },
});
