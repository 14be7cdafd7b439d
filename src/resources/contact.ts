// Field groups shared by several resources (interface 2.4 and 2.5).

import { fault } from "../model/errors.ts";
import { group, matching, text } from "../model/field.ts";

export const telephone = group("Telephone numbers, in any notation.", {
  Daytime: text({ max: 64, description: "Daytime number.", example: "01632 960001" }),
  Evening: text({ max: 64, description: "Evening number.", example: "01632 960002" }),
  Mobile: text({ max: 64, description: "Mobile number.", example: "07700 900001" }),
});

export const address = group("A postal address and a contact person.", {
  Title: text({ max: 32, description: "Title of the person.", example: "Ms" }),
  Firstname: text({ max: 128, description: "First name of the person.", example: "Ada" }),
  Surname: text({ max: 128, description: "Surname of the person.", example: "Smith" }),
  AddressLine1: text({ max: 255, description: "House and street.", example: "1 High Street" }),
  AddressLine2: text({ max: 255, description: "Second line of the address.", example: "Unit 4" }),
  Town: text({ max: 128, description: "Town or city.", example: "Newcastle upon Tyne" }),
  County: text({ max: 128, description: "County, state or region.", example: "Tyne and Wear" }),
  Postcode: text({ max: 32, description: "Postal code.", example: "NE1 1AA" }),
  Country: matching("^(?:[A-Za-z]{2,3})?$", fault("invalid-country"), {
    max: 3,
    description: "Country code of 2 or 3 letters, stored as sent.",
    example: "GB",
  }),
});
