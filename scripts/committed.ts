import { describingDocuments } from "../src/http/documents.ts";
import { allResources } from "../src/resources/all.ts";
import { clientRecords } from "./client-records.ts";

/** The files that are made from the declarations and committed, by path. */
export async function committedDocuments(): Promise<Map<string, string>> {
  const documents = describingDocuments(allResources);
  const served = allResources.filter((resource) => resource.access !== "system");
  return new Map([
    ["docs/openapi.json", documents.get("/openapi.json")?.().text ?? ""],
    ["src/client/records.ts", clientRecords(served)],
  ]);
}
