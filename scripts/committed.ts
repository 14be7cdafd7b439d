import { servedOf } from "../src/model/resource.ts";
import { describingDocuments, openapiOf } from "../src/reference/documents.ts";
import { allResources } from "../src/resources/all.ts";
import { toHttpFile } from "./http-file.ts";
import { toPostman } from "./postman.ts";
import { toRecordTypes } from "./record-types.ts";
import { exampleRequests } from "./requests.ts";

/** The files that are made from the declarations and committed, by path. */
export function committedDocuments(): Map<string, string> {
  const openapi = openapiOf(allResources);
  const requests = exampleRequests(openapi);
  const served = servedOf(allResources);
  return new Map([
    ["docs/openapi.json", describingDocuments(allResources).get("/openapi.json")?.make() ?? ""],
    ["docs/postman.json", toPostman(requests, "Set the variables `url` and `key` of this collection first.")],
    ["docs/storefront.http", toHttpFile(requests)],
    ["src/client/record-types.ts", toRecordTypes(served)],
  ]);
}
