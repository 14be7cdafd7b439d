// OpenAPI 3.1, from the declarations of the resources.

import { type Form, recordSchema, type Schema, type Schemas, schemaName } from "../json-schema.ts";
import { headerComponents } from "./headers.ts";
import type { Interface } from "./interface.ts";
import { pathsOf, tagOf } from "./operations.ts";
import { filterValue, parameterComponents } from "./parameters.ts";
import { problemResponses, problemSchemas } from "./problems.ts";

/** The document at `/openapi.json`. */
export function toOpenapi(api: Interface): Schema {
  const { resources, formats } = api;
  const each = resources.flatMap((resource) => formats.map((format) => ({ resource, format })));
  return {
    openapi: "3.1.0",
    info: {
      title: "Storefront",
      version: api.version,
      summary: "Brands, order statuses and store locations of online shops.",
      description: about,
      contact: { name: "The operator of this server" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "This server." }],
    security: [{ apiKey: [] }],
    tags: each.map(({ resource, format }) => ({ name: tagOf(resource, format), description: resource.description })),
    "x-tagGroups": formats.map((format) => ({
      name: format.name.toUpperCase(),
      tags: resources.map((resource) => tagOf(resource, format)),
    })),
    paths: Object.assign({}, ...each.map(({ resource, format }) => pathsOf(resource, format, api))),
    components: {
      securitySchemes: {
        apiKey: {
          type: "apiKey",
          in: "header",
          name: "X-API-AUTH",
          description: "An API key of the website. The operator issues it.",
        },
      },
      schemas: schemaComponents(api),
      parameters: parameterComponents(resources),
      headers: headerComponents(),
      responses: problemResponses(api),
    },
  };
}

const about = `Brands, order statuses and store locations of online shops, in JSON and XML, behind a key per website.

Send your API key in the header \`X-API-AUTH\` with every request. The path's suffix, \`.json\` or \`.xml\`, is the format of both bodies.
The guide tells the rest: [getting started](/docs/getting-started), [authentication](/docs/authentication), [formats](/docs/formats),
[errors](/docs/errors), [paging and filtering](/docs/paging-and-filtering), [safe retries](/docs/safe-retries) and
[following changes](/docs/following-changes).`;

function schemaComponents({ resources }: Interface): Schemas {
  const groups: Schemas = {};
  const records: Schemas = {};
  for (const resource of resources) {
    const forms: Form[] = resource.access === "written" ? ["whole", "new", "changes"] : ["whole"];
    for (const form of forms) {
      records[schemaName(resource, form)] = recordSchema(resource, form, groups, "#/components/schemas/");
    }
  }
  return { ...records, ...groups, FilterValue: filterValue, ...problemSchemas };
}
