// JSON Schema of a page of the feed.

import type { Resource } from "../model/resource.ts";
import { recordSchema, type Schema, type Schemas, schemaName, withoutXml } from "./json-schema.ts";

/** The name of the schema of a page. */
export const pageSchemaName = "Changes";

/** The schemas of a page and of a change of each resource, by name. References in them begin with `base`. */
export function feedSchemas(resources: readonly Resource[], base: string): Schemas {
  const changes = resources.map((resource) => [changeName(resource), changeSchema(resource, base)]);
  return { [pageSchemaName]: pageSchema(resources, base), ...Object.fromEntries(changes) };
}

/** The document at `/schemas/changes.json`: a page, with what it consists of under `$defs`. */
export function feedSchemaDocument(resources: readonly Resource[]): Schema {
  const base = "#/$defs/";
  const groups: Schemas = {};
  const records = resources.map((resource) => [
    schemaName(resource, "whole"),
    recordSchema(resource, "whole", groups, base),
  ]);
  const { [pageSchemaName]: page, ...changes } = feedSchemas(resources, base);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "/schemas/changes.json",
    ...withoutXml(page),
    $defs: withoutXml({ ...changes, ...Object.fromEntries(records), ...groups }),
  };
}

function changeName({ element }: Resource): string {
  return `ChangeOf${element}`;
}

function pageSchema(resources: readonly Resource[], base: string): Schema {
  return {
    title: "Changes",
    description: "A page of the changes of a website, in order.",
    type: "object",
    required: ["Changes", "Next", "More"],
    properties: {
      Changes: {
        type: "array",
        items: {
          oneOf: resources.map((resource) => ({ $ref: base + changeName(resource) })),
          discriminator: {
            propertyName: "Resource",
            mapping: Object.fromEntries(resources.map((resource) => [resource.path, base + changeName(resource)])),
          },
          xml: { name: "Change" },
        },
      },
      Next: {
        ...cursor,
        description: "The cursor after this page, also when nothing matched. Send it as `since` to go on.",
      },
      More: {
        type: "boolean",
        description: "Whether there are changes after this page. A page without changes may have more after it.",
        xml: { attribute: true },
      },
    },
    xml: { name: "Changes" },
  };
}

const cursor: Schema = { type: "string", examples: ["1f0c63d9a2be.18"], xml: { attribute: true } };

function changeSchema(resource: Resource, base: string): Schema {
  const { singular, path, element } = resource;
  const attribute = { xml: { attribute: true } };
  return {
    title: `Change of ${element}`,
    description: `What happened to one ${singular}. Treat \`create\` and \`update\` alike: store this record.`,
    type: "object",
    required: ["Cursor", "Time", "Operation", "Resource", "ID", "Record"],
    properties: {
      Cursor: { ...cursor, description: "The cursor after this change." },
      Time: { type: "string", format: "date-time", description: "When it happened, in UTC.", ...attribute },
      Operation: { type: "string", enum: ["create", "update", "delete"], description: "What happened.", ...attribute },
      Resource: { type: "string", enum: [path], description: "Of which resource the record is.", ...attribute },
      ID: {
        type: "integer",
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "ID of the record.",
        ...attribute,
      },
      Record: {
        description: `The ${singular} after the change; null when it was deleted. In XML, the element \`${element}\`, or none.`,
        anyOf: [{ $ref: base + schemaName(resource, "whole") }, { type: "null" }],
        xml: { name: element },
      },
    },
    xml: { name: "Change" },
  };
}
