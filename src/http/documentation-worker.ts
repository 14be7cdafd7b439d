// Renders the documentation in its own thread, since it takes half a second and other requests mustn't wait for it.

import type { Resource } from "../model/resource.ts";
import { type ClientPackage, readClientPackage } from "../reference/client-package.ts";
import { renderFiles, type ServedFile } from "../reference/documents.ts";

declare const self: Worker;

export interface RenderedFile extends ServedFile {
  readonly content: Uint8Array;
}

export interface RenderedDocumentation {
  /** By path, or by `openapiKey`. */
  readonly files: ReadonlyMap<string, RenderedFile>;
  /** Undefined if it wasn't built. */
  readonly client: Pick<ClientPackage, "path" | "version"> | undefined;
}

export interface DocumentedServer {
  readonly resources: readonly Resource[];
  /** The operator's URL; undefined if it isn't public. */
  readonly contact: string | undefined;
}

self.onmessage = async ({ data: { resources, contact } }: MessageEvent<DocumentedServer>) => {
  const client = await readClientPackage();
  const files = [...renderFiles(resources, client, contact)].map(([path, file]): [string, RenderedFile] => [
    path,
    { ...file, content: Buffer.from(file.content) },
  ]);
  const rendered: RenderedDocumentation = {
    files: new Map(files),
    client: client && { path: client.path, version: client.version },
  };
  self.postMessage(rendered);
};
