// Checks that an installed program has all of this checkout's documents.

import { readClientPackage } from "../../../src/reference/client-package.ts";
import { renderFiles } from "../../../src/reference/documents.ts";
import { addressPlaceholder } from "../../../src/reference/pages/layout.ts";
import { allResources } from "../../../src/resources/all.ts";

/** Returns the paths of documents that the server at `url` serves differently from this checkout. */
export async function documentsThatDiffer(url: string): Promise<string[]> {
  const differing: string[] = [];
  const files = renderFiles(allResources, await readClientPackage());
  for (const [path, { content, hasAddress }] of files) {
    const response = await fetch(`${url}${path}`, { headers: { Connection: "close" } });
    const expected = hasAddress ? String(content).replaceAll(addressPlaceholder, url) : content;
    const isSame = Buffer.from(await response.arrayBuffer()).equals(Buffer.from(expected));
    if (response.status !== 200 || !isSame) differing.push(path);
  }
  return differing;
}
