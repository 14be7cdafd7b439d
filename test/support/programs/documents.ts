// Whether a program that was installed has every document of this checkout.

import { readClientPackage } from "../../../src/reference/client-package.ts";
import { filesWithAddress, servedFiles } from "../../../src/reference/documents.ts";
import { allResources } from "../../../src/resources/all.ts";

/** The paths of the documents for which the server at `url` has another response than this checkout. */
export async function documentsThatDiffer(url: string): Promise<string[]> {
  const differing: string[] = [];
  const client = await readClientPackage();
  const made = [...filesWithAddress(allResources, client)].map(
    ([path, make]) => [path, { make: () => make(url).text }] as const,
  );
  const files = [...servedFiles(allResources, client), ...made];
  if (files.length === 0) throw new Error("there are no documents");
  for (const [path, { make }] of files) {
    const response = await fetch(`${url}${path}`, { headers: { Connection: "close" } });
    const isSame = Buffer.from(await response.arrayBuffer()).equals(Buffer.from(await make()));
    if (response.status !== 200 || !isSame) differing.push(path);
  }
  return differing;
}
