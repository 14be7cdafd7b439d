import { describingDocuments } from "../src/http/documents.ts";
import { allResources } from "../src/resources/all.ts";

/** The files that are made from the declarations and committed, by path. */
export async function committedDocuments(): Promise<Map<string, string>> {
  const documents = describingDocuments(allResources);
  return new Map([["docs/openapi.json", documents.get("/openapi.json")?.().text ?? ""]]);
}
