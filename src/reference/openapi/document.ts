// Makes the OpenAPI 3.1 document from the resources' declarations.

import { version } from "../../../package.json" with { type: "json" };
import { formats } from "../../formats/format.ts";
import { formatResourceList, type Resource } from "../../model/resource.ts";
import { batchSchemas } from "../batch-schema.ts";
import { type Form, feedSchemas, recordSchema, type Schema, type Schemas, schemaName } from "../json-schema.ts";
import { keySchema, keySchemaName } from "../key-schema.ts";
import { exampleAddress } from "../pages/markdown.ts";
import { problemSchemas } from "../problem-schema.ts";
import { batchParameters, batchPathsOf, batchTag } from "./batch.ts";
import { problemResponses } from "./bodies.ts";
import { filterValue, headerComponents, parameterComponents, type Tagged, tagOf } from "./components.ts";
import { keyWebhookPathsOf, keyWebhookSchemas, keyWebhookTag } from "./key-webhooks.ts";
import { feedParameters, feedPathOf, feedTag, keyPathOf, keyTag, pathsOf } from "./operations.ts";
import { webhookParameters, webhookSchemas, webhooksOf, webhookTag } from "./webhooks.ts";

/** The document at `/openapi.json`. @param resources the public ones @param contact the operator's `mailto:` or `https:` URL */
export function toOpenapi(resources: readonly Resource[], contact?: string): Schema {
  return {
    openapi: "3.1.0",
    info: {
      title: "Storefront",
      version,
      summary: `${contentOf(resources)}.`,
      description: `${contentOf(resources)}, in JSON and XML, with an API key per site.\n\n${usage}`,
      contact: { name: "The operator of this server", ...contactMember(contact) },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: exampleAddress, description: "This server." }],
    security: [{ apiKey: [] }],
    tags: [
      ...taggedOf(resources).flatMap((tagged) =>
        formats.map((format) => ({ name: tagOf(tagged, format), description: tagged.description })),
      ),
      webhookTag,
    ],
    "x-tagGroups": [
      ...formats.map((format) => ({
        name: format.name.toUpperCase(),
        tags: taggedOf(resources).map((tagged) => tagOf(tagged, format)),
      })),
      { name: webhookTag.name, tags: [webhookTag.name] },
    ],
    paths: Object.assign(
      {},
      ...formats.map(keyPathOf),
      ...resources.flatMap((resource) => formats.map((format) => pathsOf(resource, format))),
      ...formats.map((format) => feedPathOf(resources, format)),
      ...formats.map((format) => batchPathsOf(resources, format)),
      ...formats.map(keyWebhookPathsOf),
    ),
    webhooks: webhooksOf(resources),
    components: componentsOf(resources),
  };
}

function contactMember(contact = ""): Schema {
  if (contact === "") return {};
  return contact.startsWith("mailto:") ? { email: contact.slice("mailto:".length) } : { url: contact };
}

/** In the order of the document. */
function taggedOf(resources: readonly Resource[]): readonly Tagged[] {
  return [keyTag, ...resources, feedTag, batchTag, keyWebhookTag];
}

function componentsOf(resources: readonly Resource[]): Schema {
  return {
    securitySchemes: { apiKey },
    schemas: schemaComponents(resources),
    parameters: {
      ...parameterComponents(resources),
      ...feedParameters(resources),
      ...batchParameters(resources),
      ...webhookParameters,
    },
    headers: headerComponents(),
    responses: problemResponses(),
  };
}

function contentOf(resources: readonly Resource[]): string {
  const [first = "", ...rest] = `${formatResourceList(resources)} of online shops`;
  return first.toUpperCase() + rest.join("");
}

const usage = `Send your API key in the header \`X-API-AUTH\` with every request. The path's suffix, \`.json\` or \`.xml\`, selects the format of both the request
body and the response. You can compress request bodies with \`Content-Encoding: gzip\`. The guide explains the rest: [getting started](/docs/getting-started), [authentication](/docs/authentication),
[formats](/docs/formats), [errors](/docs/errors), [paging and filtering](/docs/paging-and-filtering), [safe retries](/docs/safe-retries),
[following changes](/docs/following-changes), [batch requests](/docs/batches) and [webhooks](/docs/webhooks).`;

const apiKey: Schema = {
  type: "apiKey",
  in: "header",
  name: "X-API-AUTH",
  description: "The site's API key, which you get from the operator.",
};

function schemaComponents(resources: readonly Resource[]): Schemas {
  const base = "#/components/schemas/";
  const groups: Schemas = {};
  const records: Schemas = {};
  for (const resource of resources) {
    const forms: Form[] = resource.access === "written" ? ["whole", "new", "changes"] : ["whole"];
    for (const form of forms) {
      records[schemaName(resource, form)] = recordSchema(resource, form, groups, base);
    }
  }
  return {
    ...records,
    ...groups,
    ...feedSchemas(resources, base),
    ...batchSchemas(resources, base),
    ...webhookSchemas(),
    [keySchemaName]: keySchema,
    ...keyWebhookSchemas(base),
    FilterValue: filterValue,
    ...problemSchemas(base),
  };
}
