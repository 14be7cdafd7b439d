import { instant, matching } from "../model/field.ts";
import { defineResource } from "../model/resource.ts";
import { operatorResourceName } from "../model/system-site.ts";

/** The people who can use the console, a system resource. Their sign-in links and sessions aren't part of the record (`CredentialStore`). */
export const operator = defineResource({
  name: operatorResourceName,
  path: "operators",
  element: "Operator",
  singular: "operator",
  plural: "operators",
  description: "A person who may use the console.",
  access: "system",
  fields: {
    Name: matching("^[^\\p{C}\\p{Zl}\\p{Zp}]+$", "remove line breaks and invisible characters", {
      max: 64,
      required: true,
      description: "Name of the operator. The history shows it with `console:` in front.",
      example: "anna",
    }),
    Sites: matching("^(?:[1-9][0-9]*(?: [1-9][0-9]*)*)?$", "use site IDs, separated by spaces", {
      max: 4096,
      description: "IDs of the sites that the operator may manage, separated by spaces. Empty for all sites.",
      example: "1 4",
    }),
    // Any word goes, so that a restore keeps roles stored by another version of the program.
    Role: matching("^[a-z-]*$", "use the name of a role", {
      max: 32,
      description: "What the operator may do in these sites. Empty for everything.",
      example: "read",
    }),
    Subject: matching("^[^\\p{C}\\p{Zl}\\p{Zp}]*$", "remove line breaks and invisible characters", {
      max: 1024,
      description: "The provider's issuer and, after a space, its ID for the person. Empty if they sign in with links.",
      example: "https://login.example 00u1a2b3",
    }),
    Created: instant({ description: "When it was created.", example: "2026-01-31T12:00:00.000Z" }),
  },
});
