import { publicResources } from "../../src/model/resource.ts";
import { sitesSchemaDocument } from "../../src/operator/sites/sites-file.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import { allResources } from "../../src/resources/all.ts";
import { toHttpFile } from "./http-file.ts";
import { toPostman } from "./postman.ts";
import { toRecordTypes } from "./record-types.ts";
import { exampleRequests } from "./requests.ts";

/** Generates the committed files that are derived from the declarations. Returns their contents by path. */
export async function committedDocuments(): Promise<Map<string, string>> {
  const served = publicResources(allResources);
  const requests = exampleRequests(toOpenapi(served));
  return new Map([
    ["docs/openapi.json", `${JSON.stringify(toOpenapi(served), null, 2)}\n`],
    ["docs/sites.schema.json", `${JSON.stringify(sitesSchemaDocument(), null, 2)}\n`],
    ["docs/postman.json", toPostman(requests)],
    ["docs/storefront.http", toHttpFile(requests, "rest-client")],
    ["docs/storefront-jetbrains.http", toHttpFile(requests, "jetbrains")],
    ["src/client/record-types.ts", toRecordTypes(served)],
  ]);
}
